//! The profile of a whole process, which the variable `RUMBA_PROFILE` asks for: from the first device to the end of the process.
//!
//! The program itself is unchanged, and can take profiles of its own parts meanwhile. A process that a signal ends, or `_exit`,
//! leaves no profile.

use crate::base::driver;
use crate::base::error::Result;
use crate::base::recording::{Recorder, Scope};
use crate::devices::device::Device;
#[cfg(feature = "report")]
use crate::performance::capacity::Measured;
#[cfg(not(feature = "report"))]
use crate::performance::files;
use crate::performance::profile::Profile;
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variable that names the folder. `%p` in the name stands for the number of the process.
const FOLDER: &str = "RUMBA_PROFILE";
/// The variable that names a file of counts, for rates and the roofline.
#[cfg(feature = "report")]
const COUNTS: &str = "RUMBA_PROFILE_COUNTS";
/// The variable with which the software device counts instructions. A device that counts is not measured.
#[cfg(feature = "report")]
const COUNTING: &str = "RUMBA_PROFILE_JSON";

/// The profile that is being taken.
struct Running {
    /// The process that takes the profile. A process that was forked from it has no driver.
    process: u32,
    folder: PathBuf,
    recorder: Recorder,
    /// The rates of a device without theoretical ones.
    #[cfg(feature = "report")]
    measured: Option<Measured>,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// Begins the profile of the process with its first device, if the environment asks for a profile.
pub(crate) fn begin(device: &Device) {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(folder) = driver::path_from_environment(FOLDER) else {
        return;
    };
    let process = std::process::id();
    #[cfg(feature = "report")]
    let measured = measured(device);
    #[cfg(not(feature = "report"))]
    let _ = device;
    let running = Running {
        process,
        folder: folder.to_string_lossy().replace("%p", &process.to_string()).into(),
        recorder: Recorder::start(Scope::Process),
        #[cfg(feature = "report")]
        measured,
    };
    if let Ok(mut place) = RUNNING.lock() {
        *place = Some(running);
    }
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    // SAFETY: the function stays mapped: the C library calls it before the code of a library is unmapped. Functions that were
    // registered later are called earlier, so the driver, which was started before, still works.
    if unsafe { atexit(at_exit) } != 0 {
        eprintln!("rumba: no profile is written: the system has no room for a function at the end of the process");
    }
}

/// The measured rates of the software device, which has no theoretical rates.
#[cfg(feature = "report")]
fn measured(device: &Device) -> Option<Measured> {
    let wanted = driver::is_software() && std::env::var_os(COUNTING).is_none_or(|file| file.is_empty());
    wanted.then(|| device.measure().ok()).flatten()
}

/// Ends the profile. A new thread does so: variables of the thread that ends the process may have been dropped.
extern "C" fn at_exit() {
    let running = RUNNING.lock().ok().and_then(|mut running| running.take());
    let Some(running) = running.filter(|running| running.process == std::process::id()) else {
        return;
    };
    let done = std::thread::Builder::new().spawn(|| running.finish()).map(std::thread::JoinHandle::join);
    match done {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => eprintln!("rumba: {FOLDER}: {error}"),
        // The panic has been reported.
        Ok(Err(_)) => {}
        Err(error) => eprintln!("rumba: {FOLDER}: no profile is written: {error}"),
    }
}

impl Running {
    fn finish(self) -> Result<()> {
        let profile = self.recorder.finish().map(Profile::new).unwrap_or_default();
        self.save(profile)
    }

    #[cfg(feature = "report")]
    fn save(self, mut profile: Profile) -> Result<()> {
        let counts = driver::path_from_environment(COUNTS).map(std::fs::read_to_string);
        match counts {
            Some(Ok(counts)) => profile.set_counts(&counts),
            Some(Err(error)) => eprintln!("rumba: {COUNTS}: the profile is without counts: {error}"),
            None => {}
        }
        profile.save(&self.folder, self.measured.as_ref())
    }

    #[cfg(not(feature = "report"))]
    fn save(self, profile: Profile) -> Result<()> {
        files::write(&self.folder, "profile.txt", format!("{profile}\n").as_bytes()).map(drop)
    }
}
