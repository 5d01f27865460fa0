//! What must hold of every quantity.

use proptest::prelude::*;
use pvbind::quantity::Quantity;

proptest! {
    #[test]
    fn what_is_printed_parses_to_the_same_amount_and_prints_the_same(
        text in "[+-]?[0-9]{0,30}(\\.[0-9]{0,12})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?",
    ) {
        let Ok(quantity) = Quantity::parse(&text) else { return Ok(()) };
        let printed = quantity.canonical();
        let again = Quantity::parse(&printed);
        prop_assert_eq!(again.as_ref(), Ok(&quantity));
        prop_assert_eq!(again.unwrap().canonical(), printed);
    }
}
