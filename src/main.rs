//! The binary: reads the command and hands over.

use std::process::ExitCode;

use clap::Parser;
use labs_auth::cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run(cli::Arguments::parse())
}
