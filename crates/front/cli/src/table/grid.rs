//! Columns of text: the first flush left, the others flush right.

#[derive(Debug, Default)]
pub struct Grid {
    rows: Vec<Vec<String>>,
    left: usize,
}

const GAP: &str = "  ";

impl Grid {
    /// An empty grid whose first `left` columns are flush left.
    pub fn new(left: usize) -> Self {
        Self { rows: Vec::new(), left }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The text, each line indented.
    pub fn render(&self, indent: &str) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let pad = " ".repeat(width - cell.chars().count());
                let gap = if column == 0 { "" } else { GAP };
                line.push_str(gap);
                if column < self.left {
                    line.push_str(cell);
                    line.push_str(&pad);
                } else {
                    line.push_str(&pad);
                    line.push_str(cell);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}
