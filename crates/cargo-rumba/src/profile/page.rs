//! The page with the numbers of source lines, in HTML. Knows nothing of how the numbers were counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::lines::{Lines, Sums, source, summary};

/// Text of a user, with everything escaped that HTML would read as markup.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"']) {
            let (before, from) = rest.split_at(at);
            f.write_str(before)?;
            f.write_str(match from.as_bytes()[0] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                _ => "&quot;",
            })?;
            rest = &from[1..];
        }
        f.write_str(rest)
    }
}

/// Whether a file is of a library, whose lines a reader wants to see less often.
fn is_of_library(file: &str) -> bool {
    ["cuda_std/src/", "library/core/src/", ".cargo/"].iter().any(|part| file.contains(part))
}

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --warn: light-dark(#9a3412, #fdba74); --hot: 217,119,6; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font: 13px/1.45 ui-monospace, monospace; }
th { position: sticky; top: 0; background: Canvas; text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
th:last-child { text-align: left; }
td { text-align: right; padding: 0 .6rem; white-space: pre; }
td:last-child { text-align: left; width: 99%; }
td.number { color: GrayText; }
.warn { color: var(--warn); font-weight: 600; }
details { margin: 1rem 0; } summary { cursor: pointer; }
";

const EXPLANATION: &str = "\
    Counts of the software device. Sectors: 32-byte pieces of global memory for each request of a warp, and as many as would do. \
    Wavefronts: steps in which shared memory serves a request, and as many as it would take without bank conflicts. Lanes: of a \
    warp's 32, how many took part. Parted: branches where lanes went both ways. The darker a line, the larger its share of the \
    kernel's memory traffic; what exceeds the ideal by a quarter is <span class=\"warn\">marked</span>.";

/// The page: every kernel with the files that it comes from.
pub(super) fn document(name: &str, kernels: &BTreeMap<String, (u64, Lines)>) -> String {
    let sections: String = kernels.iter().map(|(kernel, (times, lines))| section(kernel, *times, lines)).collect();
    let name = Text(name);
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Profile of {name}</title><style>{STYLE}</style></head>\n\
         <body><h1>Profile of {name}</h1><p>{EXPLANATION}</p>\n{sections}</body></html>\n"
    )
}

fn section(kernel: &str, times: u64, lines: &Lines) -> String {
    let files: BTreeSet<_> = lines.keys().map(|(file, _)| (is_of_library(file), file)).collect();
    let listings: String = files.into_iter().map(|(_, file)| listing(file, lines)).collect();
    format!("<h2>{}</h2><p>{}</p>\n{listings}", Text(kernel), Text(&summary(times, lines)))
}

/// A file with the numbers of its lines; files of libraries are folded.
fn listing(file: &str, lines: &Lines) -> String {
    let traffic = |sums: &Sums| 8 * sums.global.done + sums.shared.done;
    let whole: u64 = lines.values().map(traffic).sum::<u64>().max(1);
    let of_file: BTreeMap<u32, &Sums> =
        lines.iter().filter(|((name, _), _)| name == file).map(|((_, line), sums)| (*line, sums)).collect();
    let text = source(file);
    let rows: Vec<(u32, &str)> = match &text {
        Some(text) => (1..).zip(text.lines()).collect(),
        None => of_file.keys().map(|line| (*line, "")).collect(),
    };
    let row = |(number, text): (u32, &str)| {
        let sums = of_file.get(&number).copied().copied().unwrap_or_default();
        let heat = (traffic(&sums) as f64 / whole as f64).sqrt() * 0.5;
        let style =
            if heat > 0.0 { format!(" style=\"background: rgba(var(--hot),{heat:.2})\"") } else { String::new() };
        let warn = |is_wasteful| if is_wasteful { " class=\"warn\"" } else { "" };
        format!(
            "<tr{style}><td>{}</td><td{}>{}</td><td{}>{}</td><td>{}</td><td class=\"number\">{number}</td><td>{}</td></tr>\n",
            sums.lanes(),
            warn(sums.global.is_wasteful()),
            sums.global.per_request(),
            warn(sums.shared.is_wasteful()),
            sums.shared.per_request(),
            sums.parted(),
            Text(text)
        )
    };
    let (open, rows) = (if is_of_library(file) { "" } else { " open" }, rows.into_iter().map(row).collect::<String>());
    format!(
        "<details{open}><summary>{}</summary><table><thead><tr><th>lanes</th><th>sectors</th><th>wavefronts</th><th>parted</th>\
         <th>line</th><th>source</th></tr></thead><tbody>\n{rows}</tbody></table></details>\n",
        Text(file)
    )
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn markup_in_a_source_is_text() {
        assert_eq!(Text("if a < b && c > \"ä\"").to_string(), "if a &lt; b &amp;&amp; c &gt; &quot;ä&quot;");
        assert_eq!(Text("").to_string(), "");
    }
}
