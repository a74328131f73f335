//! The device of this process: decided once, before the first driver call returns.
//!
//! `RUMBA_DEVICE` is `auto` (NVIDIA's driver if it loads and reports a device, otherwise software), `gpu`
//! (NVIDIA's driver or an error) or `soft`. `RUMBA_CUDA_LIBRARY` names NVIDIA's library where the loader
//! does not find it as `libcuda.so.1` (it is ignored in set-uid programs), `RUMBA_SOFT_DEVICES` says how many software devices there
//! are, and `RUMBA_SOFT_ARCH` which compute capability they have. Nothing here runs a kernel or knows what the calls mean.

use std::ffi::{OsString, c_int, c_uint};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use rumba_interface::environment::{is_privileged, library_from_environment};
use rumba_interface::log::{self, Level};
use rumba_interface::{CAPABILITIES, DEFAULT_CAPABILITY, Device, MOST_DEVICES, code};

use crate::fault::Fault;
use crate::soft::{self, SoftLibraryError};

/// The kind of device that serves the driver calls of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// NVIDIA's driver, to which every call is forwarded.
    Nvidia,
    /// The software device.
    Software,
}

/// Why no device could be chosen. While it stands, `cuInit` returns `CUDA_ERROR_NO_DEVICE`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// The environment names a device that does not exist.
    #[error(
        "RUMBA_DEVICE={value} names no device: set it to `auto` (an NVIDIA GPU where there is one, otherwise \
         the software device), `gpu` or `soft`"
    )]
    UnknownDevice {
        /// The value of the variable.
        value: String,
    },
    /// NVIDIA's library was asked for and does not load.
    #[error(
        "{asked_by} asks for NVIDIA's driver, but its library `{library}` does not load: {cause}. Install \
         NVIDIA's driver, or name its library in RUMBA_CUDA_LIBRARY, or set RUMBA_DEVICE=soft to run on the \
         software device"
    )]
    NoLibrary {
        /// The setting that asked for it.
        asked_by: &'static str,
        /// The library that was looked for.
        library: String,
        /// The loader's message.
        cause: String,
    },
    /// NVIDIA's library loads and reports no usable device.
    #[error(
        "RUMBA_DEVICE=gpu asks for a GPU, but NVIDIA's driver `{library}` offers none: {cause}. Check what \
         `nvidia-smi` lists and CUDA_VISIBLE_DEVICES, or set RUMBA_DEVICE=soft to run on the software device"
    )]
    NoGpu {
        /// The library that was asked.
        library: String,
        /// The library's answer.
        cause: String,
    },
    /// The environment asks for software devices that there cannot be.
    #[error(
        "RUMBA_SOFT_DEVICES={value} is no number of software devices: set it to a number from 1 to {MOST_DEVICES}, or \
         remove it to have one"
    )]
    SoftDevices {
        /// The value of the variable.
        value: String,
    },
    /// The environment asks for a compute capability that software devices cannot have.
    #[error(
        "RUMBA_SOFT_ARCH={value} is no compute capability of software devices: set it to one of {}, or remove it to have the \
         newest",
        capabilities()
    )]
    SoftArch {
        /// The value of the variable.
        value: String,
    },
    /// The environment asks for a call to fail, and not for which.
    #[error(
        "RUMBA_FAULT={value} names no call and no error: set it to `call=37,error=2`, so that the first call from the 37th on that can \
         return CUDA_ERROR_OUT_OF_MEMORY does so, or remove it"
    )]
    Fault {
        /// The value of the variable.
        value: String,
    },
    /// There is no GPU, or none is asked for, and the software device could not be loaded.
    #[error(transparent)]
    SoftLibrary(#[from] SoftLibraryError),
}

/// A list of all compute capabilities: `7.0, 7.2, ..`.
fn capabilities() -> String {
    let all = CAPABILITIES.map(|capability| format!("{}.{}", capability / 10, capability % 10));
    all.join(", ")
}

/// The compute capability that a text names: `8.0`, or as an architecture, `sm_80`, `sm_90a` or `sm_100f`.
fn capability(text: &str) -> Option<u32> {
    let short = text.strip_prefix("sm_").unwrap_or(text);
    let short = short.strip_suffix(['a', 'f']).unwrap_or(short);
    let spellings = |capability: &u32| {
        let (major, minor) = (capability / 10, capability % 10);
        short == format!("{major}.{minor}") || short == format!("{major}{minor}")
    };
    CAPABILITIES.into_iter().find(spellings)
}

/// The decision.
pub(crate) struct Choice {
    pub(crate) driver: Result<Driver, ChoiceError>,
    /// The call that fails on purpose.
    pub(crate) fault: Option<Fault>,
}

/// The driver that serves calls: NVIDIA's loaded library, or the table of the software device.
pub(crate) enum Driver {
    Nvidia(Library),
    Software(&'static Device),
}

impl Choice {
    /// The decision for callers.
    pub(crate) fn kind(&self) -> Result<DeviceKind, ChoiceError> {
        match &self.driver {
            Ok(Driver::Nvidia(_)) => Ok(DeviceKind::Nvidia),
            Ok(Driver::Software(_)) => Ok(DeviceKind::Software),
            Err(error) => Err(error.clone()),
        }
    }
}

/// The device of this process; the first caller decides it.
pub(crate) fn choice() -> &'static Choice {
    decide(std::env::var_os("RUMBA_DEVICE"))
}

/// The device of this process, for a caller that can only use the software device: if no device is decided yet, the
/// software device is chosen, unless the environment insists on a GPU.
pub(crate) fn prefer_software() -> &'static Choice {
    let asked = std::env::var_os("RUMBA_DEVICE").filter(|asked| !asked.is_empty() && asked != "auto");
    decide(Some(asked.unwrap_or_else(|| "soft".into())))
}

static CHOICE: OnceLock<Choice> = OnceLock::new();

/// The decision, or `None` before the first caller made it.
pub(crate) fn made() -> Option<&'static Choice> {
    CHOICE.get()
}

fn decide(device: Option<OsString>) -> &'static Choice {
    CHOICE.get_or_init(|| {
        let silent = if is_library() { Level::Reports } else { Level::Off };
        log::set(log::from_environment(silent));
        let settings = Settings {
            device,
            library: library_from_environment("RUMBA_CUDA_LIBRARY"),
            soft_devices: std::env::var_os("RUMBA_SOFT_DEVICES"),
            soft_arch: std::env::var_os("RUMBA_SOFT_ARCH"),
            is_library: is_library(),
        };
        let fault = fault_from_environment();
        let driver = settings.decide().and_then(|decision| match decision {
            Decision::Nvidia(library) => Ok(Driver::Nvidia(library)),
            Decision::Software { devices, capability } => Ok(Driver::Software(soft::start(devices, capability)?)),
        });
        let choice = match fault {
            Ok(fault) => Choice { driver, fault },
            Err(error) => Choice { driver: Err(error), fault: None },
        };
        match choice.kind() {
            Ok(kind) => log::say(Level::Errors, format_args!("device: {kind:?}")),
            Err(error) => log::say(Level::Reports, format_args!("{error}")),
        }
        choice
    })
}

/// The call that the environment lets fail. A program with rights that its user lacks is not disturbed by the user.
fn fault_from_environment() -> Result<Option<Fault>, ChoiceError> {
    let set = |value: &OsString| !value.is_empty() && !is_privileged();
    let Some(value) = std::env::var_os("RUMBA_FAULT").filter(set) else {
        return Ok(None);
    };
    let value = value.to_string_lossy().into_owned();
    Fault::parse(&value).map(Some).ok_or(ChoiceError::Fault { value })
}

static IS_LIBRARY: AtomicBool = AtomicBool::new(false);

/// Declares that this code was loaded as `libcuda.so.1`, where the loader would find it again if it asked
/// for that name: from then on `auto` is the software device, unless `RUMBA_CUDA_LIBRARY` names a file.
///
/// For the package that makes that library, which has the software device in it; call it before any driver call.
pub fn serve_as_library(device: &'static Device) {
    IS_LIBRARY.store(true, Ordering::Relaxed);
    soft::link(device);
}

pub(crate) fn is_library() -> bool {
    IS_LIBRARY.load(Ordering::Relaxed)
}

/// Exported so that a loaded library can be told from NVIDIA's.
#[unsafe(no_mangle)]
extern "C" fn rumba_driver_marker() {}

struct Settings {
    device: Option<OsString>,
    library: Option<OsString>,
    soft_devices: Option<OsString>,
    soft_arch: Option<OsString>,
    is_library: bool,
}

/// The kind of device that the environment asks for and that the machine has.
enum Decision {
    Nvidia(Library),
    /// A number of software devices, all of one compute capability.
    Software {
        devices: u32,
        capability: u32,
    },
}

impl Settings {
    fn decide(&self) -> Result<Decision, ChoiceError> {
        let device = self.device.as_ref().map_or("auto".into(), |value| value.to_string_lossy());
        let found = match device.as_ref() {
            "soft" => return self.software(),
            "auto" | "" if self.is_library && self.library.is_none() => return self.software(),
            "auto" | "gpu" | "" => self.nvidia(),
            value => Err(ChoiceError::UnknownDevice { value: value.to_owned() }),
        };
        match found {
            Ok(library) => Ok(Decision::Nvidia(library)),
            // A library that was named and does not load is a mistake; one without a GPU is an ordinary machine.
            Err(error) => match error {
                ChoiceError::NoGpu { .. } if device != "gpu" => self.software(),
                ChoiceError::NoLibrary { .. } if device != "gpu" && self.library.is_none() => self.software(),
                error => Err(error),
            },
        }
    }

    /// One software device, or the number of them that the environment asks for.
    fn software(&self) -> Result<Decision, ChoiceError> {
        let text = self.soft_devices.as_ref().map(|value| value.to_string_lossy());
        let number = match text.as_deref().map(str::trim) {
            None | Some("") => Some(1),
            Some(text) => text.parse().ok().filter(|number| (1..=MOST_DEVICES as u32).contains(number)),
        };
        let devices =
            number.ok_or_else(|| ChoiceError::SoftDevices { value: text.unwrap_or_default().into_owned() })?;
        let text = self.soft_arch.as_ref().map(|value| value.to_string_lossy());
        let capability = match text.as_deref().map(str::trim) {
            None | Some("") => Some(DEFAULT_CAPABILITY),
            Some(text) => capability(text),
        };
        let capability =
            capability.ok_or_else(|| ChoiceError::SoftArch { value: text.unwrap_or_default().into_owned() })?;
        Ok(Decision::Software { devices, capability })
    }

    fn nvidia(&self) -> Result<Library, ChoiceError> {
        let name = self.library.clone().unwrap_or_else(|| "libcuda.so.1".into());
        let shown = name.to_string_lossy().into_owned();
        let asked_by = match &self.library {
            Some(_) => "RUMBA_CUDA_LIBRARY",
            None => "RUMBA_DEVICE=gpu",
        };
        let no_library = |cause: String| ChoiceError::NoLibrary { asked_by, library: shown.clone(), cause };
        if self.is_library && self.library.is_none() {
            return Err(no_library("this program loaded Rumba under that name, so NVIDIA's needs a path".into()));
        }
        // SAFETY: loading runs the library's initialisers. It is NVIDIA's driver by name, or a file that the
        // user named for that purpose.
        let library = unsafe { Library::open(Some(Path::new(&name)), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|error| no_library(sentence(&error)))?;
        // SAFETY: only the symbol's presence matters; it is not called.
        if unsafe { library.get::<unsafe extern "C" fn()>(b"rumba_driver_marker\0") }.is_ok() {
            return Err(no_library("that file is Rumba's own software device".into()));
        }
        let no_gpu = |cause: String| ChoiceError::NoGpu { library: shown.clone(), cause };
        match device_count(&library) {
            Ok(0) => Err(no_gpu("it reports no device".into())),
            Ok(_) => Ok(library),
            Err(cause) => Err(no_gpu(cause)),
        }
    }
}

/// Initialises NVIDIA's driver and asks how many devices it has.
fn device_count(library: &Library) -> Result<c_int, String> {
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
    let succeed = |call: &str, code: c_int| match code {
        0 => Ok(()),
        code => Err(match code::describe(code) {
            Some((name, text)) => {
                format!("{call} answers {} ({})", name.to_string_lossy(), text.to_string_lossy())
            }
            None => format!("{call} answers {code}"),
        }),
    };
    let mut count = 0;
    // SAFETY: both signatures are those of cuda.h, and `count` outlives the call.
    unsafe {
        let init: Symbol<Init> = library.get(b"cuInit\0").map_err(|error| sentence(&error))?;
        let device_count: Symbol<Count> = library.get(b"cuDeviceGetCount\0").map_err(|error| sentence(&error))?;
        succeed("cuInit", init(0))?;
        succeed("cuDeviceGetCount", device_count(&raw mut count))?;
    }
    Ok(count)
}

/// The loader's words; libloading keeps them one level down.
pub(crate) fn sentence(error: &libloading::Error) -> String {
    use std::error::Error;
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(device: &str, library: Option<&str>, is_library: bool) -> Result<DeviceKind, ChoiceError> {
        Settings {
            device: Some(device.into()),
            library: library.map(Into::into),
            soft_devices: None,
            soft_arch: None,
            is_library,
        }
        .decide()
        .map(|decision| match decision {
            Decision::Nvidia(_) => DeviceKind::Nvidia,
            Decision::Software { .. } => DeviceKind::Software,
        })
    }

    #[test]
    fn soft_never_looks_for_a_library() {
        assert_eq!(decide("soft", Some("/no/such/file"), false), Ok(DeviceKind::Software));
    }

    #[test]
    fn a_wrong_value_names_the_right_ones() {
        let text = decide("cpu", None, false).unwrap_err().to_string();
        for part in ["RUMBA_DEVICE=cpu", "`auto`", "`gpu`", "`soft`"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn software_devices_are_counted() {
        let decide = |devices: Option<&str>| {
            let settings = Settings {
                device: Some("soft".into()),
                library: None,
                soft_devices: devices.map(Into::into),
                soft_arch: None,
                is_library: false,
            };
            settings.decide().map(|decision| match decision {
                Decision::Nvidia(_) => 0,
                Decision::Software { devices, .. } => devices,
            })
        };
        for (asked, number) in [(None, 1), (Some(""), 1), (Some("1"), 1), (Some(" 3 "), 3), (Some("64"), 64)] {
            assert_eq!(decide(asked), Ok(number), "{asked:?}");
        }
        for asked in ["garbage", "0", "-1", "65", "2.5", "99999999999999999999"] {
            let text = decide(Some(asked)).unwrap_err().to_string();
            assert!(text.contains(&format!("RUMBA_SOFT_DEVICES={asked} ")), "{text}");
            assert!(text.contains("from 1 to 64"), "{text}");
        }
    }

    #[test]
    fn software_devices_have_the_capability_that_is_asked_for() {
        let decide = |arch: Option<&str>| {
            let settings = Settings {
                device: Some("soft".into()),
                library: None,
                soft_devices: None,
                soft_arch: arch.map(Into::into),
                is_library: false,
            };
            settings.decide().map(|decision| match decision {
                Decision::Nvidia(_) => 0,
                Decision::Software { capability, .. } => capability,
            })
        };
        for (asked, capability) in [
            (None, 90),
            (Some(""), 90),
            (Some("8.0"), 80),
            (Some(" 7.5 "), 75),
            (Some("86"), 86),
            (Some("sm_89"), 89),
            (Some("9.0a"), 90),
            (Some("sm_90a"), 90),
            (Some("10.0"), 100),
            (Some("sm_100f"), 100),
            (Some("120"), 120),
        ] {
            assert_eq!(decide(asked), Ok(capability), "{asked:?}");
        }
        for asked in ["hopper", "9", "8.1", "6.1", "11.0", "sm_", "9.0aa", "compute_90", "-8.0"] {
            let text = decide(Some(asked)).unwrap_err().to_string();
            assert!(text.contains(&format!("RUMBA_SOFT_ARCH={asked} ")), "{text}");
            assert!(text.contains("7.0, 7.2") && text.contains("8.9, 9.0, 10.0, 12.0"), "{text}");
        }
    }

    #[test]
    fn a_missing_library_says_what_was_looked_for_and_what_to_do() {
        let text = decide("gpu", Some("/no/such/libcuda.so.1"), false).unwrap_err().to_string();
        for part in ["/no/such/libcuda.so.1", "No such file", "RUMBA_DEVICE=soft"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(decide("auto", Some("/no/such/libcuda.so.1"), false).is_err());
    }

    #[test]
    fn a_library_that_is_no_driver_offers_no_gpu() {
        assert!(matches!(decide("gpu", Some("libc.so.6"), false), Err(ChoiceError::NoGpu { .. })));
        assert_eq!(decide("auto", Some("libc.so.6"), false), Ok(DeviceKind::Software));
    }

    #[test]
    fn as_libcuda_it_is_the_software_device() {
        assert_eq!(decide("auto", None, true), Ok(DeviceKind::Software));
        assert!(decide("gpu", None, true).unwrap_err().to_string().contains("needs a path"));
    }
}
