//! Files of NVIDIA's libraries, found and loaded when a library is first used, and their answers by NVIDIA's names.
//!
//! A library stays loaded until the process ends.

use crate::base::driver::path_from_environment;
use crate::base::error::LibraryError;
use crate::cuda;
use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use std::ffi::c_int;
use std::path::{Path, PathBuf};

/// A library, and where it is found.
pub(super) struct Source {
    pub(super) library: &'static str,
    /// The variable that names the file.
    pub(super) variable: &'static str,
    /// File names with the CUDA version that they belong to, newest first. A driver serves libraries of its own version and older.
    pub(super) files: &'static [(u32, &'static str)],
    /// The folder of pip's package for CUDA 12 and older, in `nvidia`.
    pub(super) package: &'static str,
    pub(super) install: &'static str,
    /// What Rumba has instead.
    pub(super) instead: &'static str,
    /// NVIDIA's names of the answers.
    pub(super) answers: &'static [(c_int, &'static str)],
}

/// A loaded file.
pub(super) struct File {
    source: &'static Source,
    loaded: Loaded,
    name: String,
}

impl Source {
    /// Loads the file that the variable names, or the newest file that the driver serves.
    pub(super) fn load(&'static self) -> Result<File, LibraryError> {
        if let Some(path) = path_from_environment(self.variable) {
            return self.first(&[path]);
        }
        let newest = cuda::version().map_or(u32::MAX, |(major, _)| major);
        let served = self.files.iter().filter(|(version, _)| *version <= newest).map(|(_, file)| *file);
        let (names, folders): (Vec<&str>, _) = (served.collect(), self.folders());
        // The loader's own places come first.
        let by_loader = names.iter().map(PathBuf::from);
        let by_path = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        let existing = by_path.filter(|path| path.is_file());
        self.first(&by_loader.chain(existing).collect::<Vec<_>>())
    }

    /// Loads the first of these files that loads.
    fn first(&'static self, paths: &[PathBuf]) -> Result<File, LibraryError> {
        let mut cause = None;
        for path in paths {
            // SAFETY: loading runs the library's initialisers. The file is NVIDIA's by its name, or named by the user for this purpose.
            match unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) } {
                Ok(loaded) => return Ok(File { source: self, loaded, name: path.display().to_string() }),
                Err(error) => {
                    let text = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                    cause.get_or_insert(text);
                }
            }
        }
        Err(LibraryError::Missing {
            library: self.library,
            tried: paths.iter().map(|path| path.display().to_string()).collect(),
            cause: cause.unwrap_or_else(|| "the driver is too old for it".to_owned()),
            install: self.install,
            variable: self.variable,
        })
    }

    /// Folders of CUDA toolkits, of conda's environment and of pip's packages in the active environment of Python.
    fn folders(&self) -> Vec<PathBuf> {
        let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(path_from_environment);
        let mut folders: Vec<PathBuf> = toolkits.map(|folder| folder.join("lib64")).collect();
        folders.push(PathBuf::from("/usr/local/cuda/lib64"));
        let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(path_from_environment);
        for lib in environments.map(|folder| folder.join("lib")) {
            folders.push(lib.clone());
            folders.extend(self.packages(&lib));
        }
        folders
    }

    /// Folders of pip's packages below `lib` of an environment: `python3.12/site-packages/nvidia/cu13/lib`.
    fn packages(&self, lib: &Path) -> Vec<PathBuf> {
        let entries = lib.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let pythons =
            entries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
        let nvidia = pythons.map(|python| python.join("site-packages/nvidia"));
        nvidia.flat_map(|nvidia| ["cu13", self.package].map(|folder| nvidia.join(folder).join("lib"))).collect()
    }

    /// The library's answer as an error.
    pub(super) fn check(&self, operation: &'static str, answer: c_int) -> Result<(), LibraryError> {
        if answer == 0 {
            return Ok(());
        }
        let name = self.answers.iter().find(|(number, _)| *number == answer);
        let status = name.map_or_else(|| answer.to_string(), |(number, name)| format!("{name} ({number})"));
        Err(LibraryError::Refused { library: self.library, operation, status })
    }

    /// A number that the library counts to.
    pub(super) fn counted(&self, operation: &'static str, number: usize) -> Result<c_int, LibraryError> {
        let library = self.library;
        c_int::try_from(number).map_err(|_| LibraryError::TooLong { library, operation, number })
    }
}

impl File {
    /// A function of the library.
    ///
    /// # Safety
    /// `F` is the type of a pointer to a C function with the signature of the library's header.
    pub(super) unsafe fn function<F: Copy>(&self, name: &'static str) -> Result<F, LibraryError> {
        // SAFETY: the caller's promise.
        let found = unsafe { self.loaded.get::<F>(name.as_bytes()) };
        found.map(|function| *function).map_err(|_| LibraryError::NoFunction {
            library: self.source.library,
            file: self.name.clone(),
            function: name,
            variable: self.source.variable,
        })
    }

    /// Keeps the file loaded until the process ends: functions were taken from it.
    pub(super) fn keep(self) {
        std::mem::forget(self.loaded);
    }
}

/// The functions of a library with its type of handles: a structure of function pointers that is a [`Library`](super::Library), and a
/// function that loads it once per process. `set_stream` and `destroy` are among the functions.
macro_rules! functions {
    ($source:expr, $handle:ty; $($field:ident = $name:literal: fn($($parameter:ty),* $(,)?);)*) => {
        /// The library's functions, by the signatures of its header. Each returns an answer.
        struct Functions {
            $($field: unsafe extern "C" fn($($parameter),*) -> std::ffi::c_int,)*
        }

        impl Functions {
            /// The library of this process, loaded at the first call.
            fn get() -> Result<&'static Functions, crate::base::error::LibraryError> {
                static FUNCTIONS: std::sync::OnceLock<Functions> = std::sync::OnceLock::new();
                if let Some(functions) = FUNCTIONS.get() {
                    return Ok(functions);
                }
                let functions = Functions::of($source.load()?)?;
                Ok(FUNCTIONS.get_or_init(|| functions))
            }

            fn of(file: crate::libraries::loading::File) -> Result<Functions, crate::base::error::LibraryError> {
                // SAFETY: the signatures are those of the header.
                let functions = unsafe { Functions { $($field: file.function($name)?,)* } };
                file.keep();
                Ok(functions)
            }
        }

        impl crate::libraries::Library for Functions {
            type Handle = $handle;
            const SOURCE: &'static crate::libraries::loading::Source = &$source;

            unsafe fn set_stream(&self, handle: $handle, stream: crate::cuda::sys::CUstream) -> std::ffi::c_int {
                // SAFETY: the caller's promise.
                unsafe { (self.set_stream)(handle, stream) }
            }

            unsafe fn destroy(&self, handle: $handle) -> std::ffi::c_int {
                // SAFETY: the caller's promise.
                unsafe { (self.destroy)(handle) }
            }
        }
    };
}

pub(super) use functions;

#[cfg(test)]
mod tests {
    use super::{LibraryError, Source};
    use std::path::PathBuf;

    static NOTHING: Source = Source {
        library: "cuNOTHING",
        variable: "CUNOTHING",
        files: &[],
        package: "nothing",
        install: "install it",
        instead: "`rumba`",
        answers: &[(1, "CUNOTHING_STATUS_NOTHING")],
    };

    #[test]
    fn a_missing_file_is_named() {
        let names = ["libcunothing.so.13", "/nowhere/libcunothing.so.12"].map(PathBuf::from);
        let Err(LibraryError::Missing { tried, cause, .. }) = NOTHING.first(&names) else {
            panic!("no such file exists");
        };
        assert_eq!(tried, ["libcunothing.so.13", "/nowhere/libcunothing.so.12"]);
        assert!(cause.contains("libcunothing.so.13"), "{cause}");
    }

    #[test]
    fn a_missing_function_is_named() {
        let file = NOTHING.first(&[PathBuf::from("libc.so.6")]).expect("every process has it");
        // SAFETY: this is the signature of `abs`.
        let found = unsafe { file.function::<unsafe extern "C" fn(i32) -> i32>("abs") };
        // SAFETY: as above.
        assert_eq!(unsafe { found.expect("libc has it")(-3) }, 3);
        // SAFETY: no such function exists.
        let missing = unsafe { file.function::<unsafe extern "C" fn()>("cunothingCreate") };
        assert!(matches!(missing, Err(LibraryError::NoFunction { function: "cunothingCreate", .. })));
    }

    #[test]
    fn answers_have_names() {
        assert!(NOTHING.check("do nothing", 0).is_ok());
        let says = |answer| NOTHING.check("do nothing", answer).expect_err("an error").to_string();
        assert_eq!(says(1), "cannot do nothing: cuNOTHING answers CUNOTHING_STATUS_NOTHING (1)");
        assert_eq!(says(77), "cannot do nothing: cuNOTHING answers 77");
    }
}
