//! Plain tables for a terminal: a heading, columns as wide as their widest cell.

/// Prints the rows under their heading.
pub(super) fn print<const N: usize>(heading: [&str; N], rows: &[[String; N]]) {
    let widths: Vec<usize> = (0..N)
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([heading[column].len()]).max().unwrap_or(0)
        })
        .collect();
    print_row(&heading.map(str::to_owned), &widths);
    for row in rows {
        print_row(row, &widths);
    }
}

fn print_row(cells: &[String], widths: &[usize]) {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{:<width$}", plain(cell))).collect();
    println!("{}", padded.join("  ").trim_end());
}

/// What people typed may hold anything; a terminal must not obey it.
fn plain(cell: &str) -> String {
    cell.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}
