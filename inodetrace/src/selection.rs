//! The plan as asked for: what the request leaves out becomes null with that reason, so that an
//! unasked site is never taken for one on which nothing happened.

use crate::{
    backend::{Hold, Request},
    plan::{Plan, Quantity, Status},
};

/// Reason of sites that the user did not choose.
pub const NOT_ASKED: &str = "not asked for: left out by --site or --lock";
/// Reason of hold times that the user switched off.
pub const HOLD_OFF: &str = "not asked for: --hold off";

/// `plan` reduced to what `request` asks for.
pub fn select(mut plan: Plan, request: &Request) -> Plan {
    for site in &mut plan.sites {
        let not_asked = || Quantity::Null(NOT_ASKED.into());
        if !request.sites.contains(&site.site) && site.status != Status::Absent {
            site.status = Status::NotObservable;
            site.reason = Some(NOT_ASKED.into());
            site.how.clear();
            site.calls = not_asked();
            site.acquisitions = not_asked();
            site.contended = not_asked();
            site.hold = not_asked();
        } else if request.hold == Hold::Off && site.hold.is_counted() {
            site.hold = Quantity::Null(HOLD_OFF.into());
        }
    }
    plan
}
