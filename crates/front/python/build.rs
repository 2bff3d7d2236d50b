//! Lets an extension module be linked without the interpreter that will load it.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
