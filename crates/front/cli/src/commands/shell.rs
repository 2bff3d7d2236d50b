//! `nandarium completions` and `nandarium man`: what shells and `man` need, made from the same table as the help.

use crate::arguments::{Arguments, CompletionsArguments, ManArguments};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory as _;
use std::fs;

pub fn completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "nandarium", &mut text);
    output::print(&String::from_utf8_lossy(&text))
}

pub fn man(arguments: &ManArguments) -> Result<(), Failure> {
    let command = Arguments::command();
    let Some(folder) = &arguments.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(Failure::failed)?;
        return output::print(&String::from_utf8_lossy(&page));
    };
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    written.map_err(|error| Failure::file(folder, "written", &error))
}
