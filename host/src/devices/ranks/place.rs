//! The rank of this process, and the address where ranks meet: from the variables that launchers of processes set.

use crate::base::error::{RankError, Result};
use crate::devices::device::Device;
use std::time::Duration;

/// A process's place among those that run the same program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number, from 0.
    pub rank: usize,
    /// How many processes there are.
    pub size: usize,
    /// Its number among those of its machine, from 0.
    pub local_rank: usize,
    /// Where rank 0 listens and the others find it: `host:port`.
    pub address: String,
    /// How long a rank waits for another before it gives up; a year at most.
    pub timeout: Duration,
    /// How it asks to exchange data.
    pub transport: Choice,
}

/// How a rank asks to exchange data. A rank that asks for NCCL or TCP gets exactly this transport, or an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// By NCCL where all ranks can, else by TCP.
    #[default]
    Automatic,
    /// By NCCL.
    Nccl,
    /// Through the host's memory and rank 0, by TCP.
    Tcp,
}

/// The variables of a launcher.
struct Launcher {
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
    /// Where it says on which machines the processes are.
    hosts: Hosts,
}

enum Hosts {
    /// Only `MASTER_ADDR` does.
    Unknown,
    /// This variable has the number of processes on this machine: if it is that of all, this is the only machine.
    Count(&'static str),
    /// This variable has the list of machines, as Slurm writes it: `node[03-05,9],login`.
    List(&'static str),
}

/// torchrun's come first: they may be set by hand where another launcher started the process.
const LAUNCHERS: [Launcher; 4] = [
    Launcher { rank: "RANK", size: "WORLD_SIZE", local_rank: "LOCAL_RANK", hosts: Hosts::Unknown },
    // Open MPI.
    Launcher {
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        hosts: Hosts::Count("OMPI_COMM_WORLD_LOCAL_SIZE"),
    },
    // MPICH and Intel's MPI.
    Launcher {
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        local_rank: "MPI_LOCALRANKID",
        hosts: Hosts::Count("MPI_LOCALNRANKS"),
    },
    // Slurm's `srun`. The variables of a step are not set in a batch script itself.
    Launcher {
        rank: "SLURM_PROCID",
        size: "SLURM_STEP_NUM_TASKS",
        local_rank: "SLURM_LOCALID",
        hosts: Hosts::List("SLURM_STEP_NODELIST"),
    },
];

/// torchrun's port.
const PORT: u16 = 29_500;

const TIMEOUT: Duration = Duration::from_secs(300);

/// The longest timeout: a year.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How many ranks a group may have.
pub(super) const MOST_RANKS: usize = 1 << 16;

impl Place {
    /// The only process: rank 0 of 1, which waits for no other.
    #[must_use]
    pub fn alone() -> Place {
        Place {
            rank: 0,
            size: 1,
            local_rank: 0,
            address: format!("127.0.0.1:{PORT}"),
            timeout: TIMEOUT,
            transport: Choice::Automatic,
        }
    }

    /// The rank from the environment, or [`alone`](Self::alone) if no launcher has started this process.
    ///
    /// | launcher | rank | ranks | on its machine |
    /// |---|---|---|---|
    /// | `torchrun`, Kubernetes' training jobs, or by hand | `RANK` | `WORLD_SIZE` | `LOCAL_RANK` |
    /// | Open MPI's `mpirun` | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK` |
    /// | MPICH's and Intel's `mpirun` | `PMI_RANK` | `PMI_SIZE` | `MPI_LOCALRANKID` |
    /// | Slurm's `srun` | `SLURM_PROCID` | `SLURM_STEP_NUM_TASKS` | `SLURM_LOCALID` |
    ///
    /// Ranks meet at `MASTER_ADDR` and `MASTER_PORT`. Without the former it is the first machine of Slurm's list, or this machine if
    /// MPI has started all ranks on it; without the latter port 29500. `RUMBA_RANK_TIMEOUT` is the timeout in seconds, 300 if it is
    /// not set; `RUMBA_RANK_TRANSPORT` is `nccl` or `tcp` where ranks shall not choose themselves.
    ///
    /// # Errors
    /// [`RankError::Environment`], [`RankError::NoSuchRank`], [`RankError::TooManyRanks`].
    pub fn from_env() -> Result<Place> {
        Ok(read(&|name| std::env::var(name).ok())?)
    }

    /// The device of this rank: that of its number on its machine. If there are more ranks than devices, they share these.
    ///
    /// # Errors
    /// As [`Device::get`].
    pub fn device(&self) -> Result<Device> {
        let count = Device::count()?.max(1);
        Device::get((self.local_rank % count as usize) as u32)
    }
}

type Variables<'v> = &'v dyn Fn(&'static str) -> Option<String>;

/// How long a rank waits for another, from the environment.
pub(in crate::devices) fn timeout() -> Result<Duration, RankError> {
    timeout_of(&|name| std::env::var(name).ok())
}

fn timeout_of(variables: Variables<'_>) -> Result<Duration, RankError> {
    let wanted = format!("a number of seconds, 1 to {}", LONGEST_TIMEOUT.as_secs());
    match number(variables, "RUMBA_RANK_TIMEOUT", &wanted)? {
        None => Ok(TIMEOUT),
        Some(seconds) if (1..=LONGEST_TIMEOUT.as_secs()).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        Some(seconds) => {
            let value = Some(seconds.to_string());
            Err(RankError::Environment { variable: "RUMBA_RANK_TIMEOUT", value, wanted })
        }
    }
}

fn read(variables: Variables<'_>) -> Result<Place, RankError> {
    let timeout = timeout_of(variables)?;
    let transport = match variables("RUMBA_RANK_TRANSPORT").as_deref() {
        None | Some("" | "auto") => Choice::Automatic,
        Some("nccl") => Choice::Nccl,
        Some("tcp") => Choice::Tcp,
        Some(other) => {
            return Err(RankError::Environment {
                variable: "RUMBA_RANK_TRANSPORT",
                value: Some(other.to_owned()),
                wanted: "`nccl`, `tcp` or `auto`".into(),
            });
        }
    };
    let alone = Place { timeout, transport, ..Place::alone() };
    let launcher =
        LAUNCHERS.iter().find(|launcher| variables(launcher.size).is_some() && variables(launcher.rank).is_some());
    let Some(launcher) = launcher else {
        // A single variable of torchrun is a mistake: each process would run the program as if it were alone.
        return match [LAUNCHERS[0].rank, LAUNCHERS[0].size].map(|name| variables(name).is_some()) {
            [true, false] => Err(missing(LAUNCHERS[0].size, "how many ranks there are")),
            [false, true] => Err(missing(LAUNCHERS[0].rank, "the number of this rank, from 0")),
            _ => Ok(alone),
        };
    };
    let count = |name, wanted: &str| number(variables, name, wanted)?.ok_or_else(|| missing(name, wanted));
    let rank = count(launcher.rank, "the number of this rank, from 0")? as usize;
    let size = count(launcher.size, "how many ranks there are")? as usize;
    check(rank, size)?;
    let local_rank = number(variables, launcher.local_rank, "the number of this rank on its machine")?;
    let port = number(variables, "MASTER_PORT", "a port, 1 to 65535")?.unwrap_or(PORT.into());
    if !(1..=u64::from(u16::MAX)).contains(&port) {
        return Err(RankError::Environment {
            variable: "MASTER_PORT",
            value: Some(port.to_string()),
            wanted: "a port, 1 to 65535".into(),
        });
    }
    let host = match (variables("MASTER_ADDR"), &launcher.hosts) {
        (Some(host), _) => host,
        (None, Hosts::Count(name))
            if number(variables, name, "how many ranks are on this machine")? == Some(size as u64) =>
        {
            "127.0.0.1".into()
        }
        (None, Hosts::List(name)) => variables(name)
            .as_deref()
            .and_then(first_host)
            .ok_or_else(|| missing("MASTER_ADDR", "the machine of rank 0"))?,
        _ if size == 1 => "127.0.0.1".into(),
        _ => return Err(missing("MASTER_ADDR", "the machine of rank 0")),
    };
    // An address of the sixth version of IP has colons itself.
    let address = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    Ok(Place {
        rank,
        size,
        // Without a word of it, all ranks may be on one machine.
        local_rank: local_rank.map_or(rank, |rank| rank as usize),
        address,
        timeout,
        transport,
    })
}

/// Refuses a rank of no group, and a group that is too large.
pub(super) fn check(rank: usize, size: usize) -> Result<(), RankError> {
    if size > MOST_RANKS {
        return Err(RankError::TooManyRanks { size, most: MOST_RANKS });
    }
    if rank >= size {
        return Err(RankError::NoSuchRank { rank, size });
    }
    Ok(())
}

fn missing(variable: &'static str, wanted: &str) -> RankError {
    RankError::Environment { variable, value: None, wanted: wanted.into() }
}

fn number(variables: Variables<'_>, variable: &'static str, wanted: &str) -> Result<Option<u64>, RankError> {
    let Some(value) = variables(variable) else {
        return Ok(None);
    };
    match value.trim().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(RankError::Environment { variable, value: Some(value), wanted: wanted.into() }),
    }
}

/// The first machine of Slurm's list: `node03` of `node[03-05,9],login`.
fn first_host(list: &str) -> Option<String> {
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (prefix, rest) = list.split_at(end);
    let number = match rest.strip_prefix('[') {
        None => "",
        Some(numbers) => numbers.split([']', ',', '-']).next()?,
    };
    let host = format!("{prefix}{number}");
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::{Choice, LONGEST_TIMEOUT, MOST_RANKS, Place, RankError, first_host, read};
    use std::time::Duration;

    fn of(variables: &[(&str, &str)]) -> Result<Place, RankError> {
        read(&|name| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_launcher_is_understood() {
        let place = |variables: &[(&str, &str)]| {
            let place = of(variables).unwrap_or_else(|error| panic!("{variables:?}: {error}"));
            (place.rank, place.size, place.local_rank, place.address)
        };
        let address = String::from;
        assert_eq!(
            place(&[
                ("RANK", "5"),
                ("WORLD_SIZE", "8"),
                ("LOCAL_RANK", "1"),
                ("MASTER_ADDR", "big"),
                ("MASTER_PORT", "1234"),
            ]),
            (5, 8, 1, address("big:1234"))
        );
        assert_eq!(
            place(&[
                ("OMPI_COMM_WORLD_RANK", "1"),
                ("OMPI_COMM_WORLD_SIZE", "2"),
                ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
                ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
            ]),
            (1, 2, 1, address("127.0.0.1:29500"))
        );
        assert_eq!(
            place(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("MASTER_ADDR", "::1")]),
            (0, 2, 0, address("[::1]:29500"))
        );
        assert_eq!(
            place(&[
                ("SLURM_PROCID", "3"),
                ("SLURM_STEP_NUM_TASKS", "4"),
                ("SLURM_LOCALID", "0"),
                ("SLURM_STEP_NODELIST", "node[03-05,9],login"),
            ]),
            (3, 4, 0, address("node03:29500"))
        );
    }

    #[test]
    fn without_a_launcher_a_process_is_alone() {
        assert_eq!(of(&[]).ok(), Some(Place::alone()));
        // In a batch script of Slurm, no step has begun.
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]).ok(), Some(Place::alone()));
        let place = of(&[("RUMBA_RANK_TIMEOUT", "7"), ("RUMBA_RANK_TRANSPORT", "tcp")]);
        let place = place.map(|place| (place.timeout, place.transport));
        assert_eq!(place.ok(), Some((Duration::from_secs(7), Choice::Tcp)));
        // The longest timeout, and the largest group.
        let place =
            of(&[("RUMBA_RANK_TIMEOUT", "31536000"), ("RANK", "65535"), ("WORLD_SIZE", "65536"), ("MASTER_ADDR", "a")]);
        let place = place.map(|place| (place.timeout, place.rank, place.size));
        assert_eq!(place.ok(), Some((LONGEST_TIMEOUT, 65_535, MOST_RANKS)));
    }

    #[test]
    fn wrong_variables_are_named() {
        let cases: [(&[(&str, &str)], &str); 12] = [
            (&[("RANK", "0")], "WORLD_SIZE is not set"),
            (&[("WORLD_SIZE", "2")], "RANK is not set"),
            (&[("RANK", "one"), ("WORLD_SIZE", "2")], "RANK is `one`"),
            (&[("RANK", "2"), ("WORLD_SIZE", "2")], "no rank 2 in a group of 2"),
            (&[("RANK", "0"), ("WORLD_SIZE", "2")], "MASTER_ADDR is not set"),
            (
                &[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "70000")],
                "MASTER_PORT is `70000`",
            ),
            (&[("RUMBA_RANK_TIMEOUT", "0")], "RUMBA_RANK_TIMEOUT is `0`"),
            (&[("RUMBA_RANK_TIMEOUT", "31536001")], "not a number of seconds, 1 to 31536000"),
            (&[("RUMBA_RANK_TIMEOUT", "18446744073709551615")], "RUMBA_RANK_TIMEOUT is `18446744073709551615`"),
            (&[("RANK", "0"), ("WORLD_SIZE", "18446744073709551615")], "a group of 18446744073709551615 ranks"),
            (&[("RANK", "65536"), ("WORLD_SIZE", "65537")], "a group of 65537 ranks"),
            (&[("RUMBA_RANK_TRANSPORT", "mpi")], "RUMBA_RANK_TRANSPORT is `mpi`"),
        ];
        for (variables, part) in cases {
            let text = of(variables).map_or_else(|error| error.to_string(), |place| format!("{place:?}"));
            assert!(text.contains(part), "{variables:?}: {text}");
        }
    }

    #[test]
    fn lists_of_machines_begin_with_their_first() {
        let cases = [("a", "a"), ("a,b", "a"), ("n[1-3]", "n1"), ("n[007]", "n007"), ("n[2,4],m", "n2")];
        for (list, first) in cases {
            assert_eq!(first_host(list).as_deref(), Some(first), "{list}");
        }
        assert_eq!(first_host(""), None);
    }
}
