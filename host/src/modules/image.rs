//! Chooses the text for a device among texts for several architectures, and lists the kernels that the text lacks.
//!
//! Exactly one is loaded ([`rumba_ptx::set`]): it holds of each kernel the newest variant that the device runs.

use crate::base::error::{ModuleError, Result};
use crate::context::limits::Limits;
use crate::modules::module::Text;
use rumba_ptx::foot::{self, Unsealed};
use rumba_ptx::{Target, set};

/// A kernel of which no image is for the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    pub(crate) kernel: String,
    /// The architectures that the kernel is compiled for.
    pub(crate) architectures: Vec<Target>,
}

/// The choice of texts for a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs {
    /// Its compute capability.
    capability: (u32, u32),
    /// The newest version of PTX that its driver reads.
    ptx: (u32, u32),
}

impl Runs {
    pub(crate) fn of(limits: &Limits) -> Self {
        Self { capability: limits.compute_capability, ptx: limits.ptx_version }
    }

    /// The text for the newest architecture that the device runs, of those that its driver reads; if it reads none, of all, so
    /// that it says so.
    fn choose(self, set: &str) -> Option<&str> {
        let read = |text: &&str| version(text).is_none_or(|version| version <= self.ptx);
        let runs = |text: &str| Target::of(text).filter(|target| target.runs_on(self.capability));
        let fitting = set::texts(set).into_iter().filter(read);
        let fitting = fitting.filter_map(|text| runs(text).map(|target| (target, text)));
        let newest = fitting.max_by_key(|&(target, _)| target).map(|(_, text)| text);
        newest.or_else(|| set::choose(set, self.capability))
    }
}

/// The version of PTX that a text is of.
fn version(text: &str) -> Option<(u32, u32)> {
    let (_, rest) = text.split_once(".version")?;
    let (major, minor) = rest.split_whitespace().next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The text for a device, and the kernels that only other texts have.
///
/// Where a device runs no text it is given one with nothing in it, and all kernels are missing: the error comes with the first
/// kernel that is used, as it does where only some are missing.
///
/// # Errors
/// The text cannot be PTX, or is not sealed and should be.
pub(crate) fn image(name: &str, source: Text, device: Runs) -> Result<(Text, Vec<Elsewhere>)> {
    let capability = device.capability;
    check(name, &source)?;
    let Text { ptx, sealed } = &source;
    let texts = set::texts(ptx);
    let chosen = match texts.as_slice() {
        [only] if Target::of(only).is_none_or(|target| target.runs_on(capability)) => return Ok((source, Vec::new())),
        // The driver decides, and says why not.
        [_] if !*sealed => return Ok((source, Vec::new())),
        _ => device.choose(ptx),
    };
    let here = chosen.map(set::kernels).unwrap_or_default();
    let mut elsewhere: Vec<Elsewhere> = Vec::new();
    for kernel in texts.iter().flat_map(|text| set::kernels(text)) {
        if !here.contains(&kernel) && !elsewhere.iter().any(|known| known.kernel == kernel) {
            elsewhere.push(Elsewhere { kernel: kernel.to_owned(), architectures: set::floors(ptx, kernel) });
        }
    }
    let ptx = chosen.map_or_else(|| nothing(capability), str::to_owned);
    let sealed = *sealed;
    Ok((Text { ptx, sealed }, elsewhere))
}

/// A text with nothing in it, for any device.
fn nothing((major, minor): (u32, u32)) -> String {
    // The newest that PTX 6.0 knows.
    let number = (major * 10 + minor).min(70);
    format!(".version 6.0\n.target sm_{number}\n.address_size 64\n")
}

fn check(name: &str, Text { ptx, sealed }: &Text) -> Result<()> {
    let not_ptx = |reason: &str| ModuleError::NotPtx { module: name.to_owned(), reason: reason.to_owned() };
    if ptx.trim().is_empty() {
        return Err(not_ptx("it is empty").into());
    }
    if let Some(reason) = foot::reason_unbuilt(ptx) {
        let remedy = "build the program again, where its kernels can be built";
        return Err(not_ptx(&format!("its kernels were not built, since {reason}; {remedy}")).into());
    }
    if !ptx.contains(".version") {
        return Err(not_ptx("it has no `.version` directive, with which PTX starts").into());
    }
    if let Some(zero) = ptx.find('\0') {
        return Err(not_ptx(&format!("byte {zero} is zero")).into());
    }
    if *sealed && let Err(unsealed) = set::check(ptx) {
        let foreign = ModuleError::ForeignPtx { module: name.to_owned(), changed: unsealed == Unsealed::Changed };
        return Err(foreign.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Elsewhere, Runs, Text, image};
    use rumba_ptx::set::{self, Member};
    use rumba_ptx::{Target, foot};

    fn target(name: &str) -> Target {
        name.parse().expect("an architecture")
    }

    fn member(of: &'static str, kernels: &[(&'static str, &str)]) -> Member<'static> {
        let entries = kernels.iter().map(|(kernel, _)| format!(".visible .entry {kernel}() {{ ret; }}\n"));
        Member {
            text: format!(".version 8.0\n.target {of}\n.address_size 64\n{}", entries.collect::<String>()),
            descriptions: Vec::new(),
            floors: kernels.iter().map(|(kernel, floor)| (*kernel, target(floor))).collect(),
        }
    }

    fn chosen(ptx: &str, sealed: bool, capability: (u32, u32)) -> (String, Vec<Elsewhere>) {
        chosen_by(ptx, sealed, capability, (9, 0))
    }

    fn chosen_by(ptx: &str, sealed: bool, capability: (u32, u32), newest: (u32, u32)) -> (String, Vec<Elsewhere>) {
        let text = Text { ptx: ptx.to_owned(), sealed };
        let runs = Runs { capability, ptx: newest };
        let (text, elsewhere) = image("a text", text, runs).expect("it is sealed");
        (text.ptx, elsewhere)
    }

    #[test]
    fn a_text_in_place_of_kernels_says_why_there_are_none() {
        for sealed in [true, false] {
            let text = Text { ptx: foot::unbuilt("docs.rs builds no kernels"), sealed };
            let error =
                image("the PTX text", text, Runs { capability: (9, 0), ptx: (9, 0) }).err().expect("no kernels");
            assert!(error.to_string().contains("were not built, since docs.rs builds no kernels"), "{error}");
        }
    }

    fn missing(kernel: &str, architectures: &[&str]) -> Elsewhere {
        Elsewhere { kernel: kernel.to_owned(), architectures: architectures.iter().map(|name| target(name)).collect() }
    }

    #[test]
    fn a_device_has_its_text_and_knows_what_others_have() {
        let set = set::seal([
            member("sm_70", &[("plain", "sm_70")]),
            member("sm_90", &[("plain", "sm_70"), ("both", "sm_90")]),
            member("sm_90a", &[("plain", "sm_70"), ("both", "sm_90a"), ("new", "sm_90a")]),
        ]);
        let texts = set::texts(&set);
        let both = || missing("both", &["sm_90", "sm_90a"]);
        let new = || missing("new", &["sm_90a"]);
        for sealed in [true, false] {
            assert_eq!(chosen(&set, sealed, (9, 0)), (texts[2].to_owned(), vec![]));
            assert_eq!(chosen(&set, sealed, (10, 0)), (texts[1].to_owned(), vec![new()]));
            assert_eq!(chosen(&set, sealed, (8, 0)), (texts[0].to_owned(), vec![both(), new()]));
            let (nothing, elsewhere) = chosen(&set, sealed, (6, 1));
            assert_eq!(nothing, ".version 6.0\n.target sm_61\n.address_size 64\n");
            assert_eq!(elsewhere, [missing("plain", &["sm_70"]), both(), new()]);
        }
    }

    #[test]
    fn a_driver_that_is_too_old_for_a_text_is_given_an_older_one() {
        let mut new = member("sm_90a", &[("plain", "sm_70"), ("both", "sm_90a")]);
        new.text = new.text.replace(".version 8.0", ".version 8.6");
        let set = set::seal([member("sm_70", &[("plain", "sm_70"), ("both", "sm_70")]), new]);
        let texts = set::texts(&set);
        let by = |newest| chosen_by(&set, true, (9, 0), newest);
        assert_eq!(by((8, 6)), (texts[1].to_owned(), vec![]));
        assert_eq!(by((9, 0)), (texts[1].to_owned(), vec![]));
        assert_eq!(by((8, 5)), (texts[0].to_owned(), vec![]));
        // The driver says that it reads none of them.
        assert_eq!(by((7, 8)), (texts[1].to_owned(), vec![]));
    }

    #[test]
    fn a_single_text_is_given_as_it_is() {
        let mut text = member("sm_80", &[("k", "sm_80")]).text;
        let foreign = text.clone();
        foot::seal(&mut text, []);
        assert_eq!(chosen(&text, true, (8, 6)), (text.clone(), vec![]));
        let (nothing, elsewhere) = chosen(&text, true, (7, 5));
        assert!(nothing.contains("sm_70"), "{nothing}");
        assert_eq!(elsewhere, [missing("k", &["sm_80"])]);
        assert_eq!(chosen(&foreign, false, (7, 5)), (foreign.clone(), vec![]), "the driver says what it lacks");
    }
}
