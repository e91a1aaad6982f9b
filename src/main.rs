//! The binary: reads the command and hands over.

fn main() {}
