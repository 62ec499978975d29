//! Time as text: RFC 3339 in, arithmetic and the compact form out. No clock is read.

use super::wrong;
use crate::base::Timestamp;
use minijinja::{Environment, Error};

pub(super) fn add_to(env: &mut Environment<'static>) {
    env.add_function("seconds_between", |a: &str, b: &str| Ok::<_, Error>(moment(b)?.duration_since(moment(a)?).as_secs_f64()));
    env.add_filter("compact_time", |time: &str| Ok::<_, Error>(Timestamp(moment(time)?.as_millisecond()).compact()));
}

fn moment(text: &str) -> Result<jiff::Timestamp, Error> {
    let shown = || text.chars().take(60).collect::<String>();
    text.parse().map_err(|_| wrong(format!("`{}` is no time as RFC 3339 writes it", shown())))
}
