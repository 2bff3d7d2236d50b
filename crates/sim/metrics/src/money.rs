//! Amounts of money with a currency as the user wrote it: `120`, `120EUR`, `$120`.

/// Longest name of a currency, characters.
const NAME_MAX: usize = 8;

/// A currency, as it was written beside a number. Nothing is converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Currency {
    /// `EUR`, `$` or any other name without digits.
    pub name: String,
    /// It stands before the number.
    pub is_before: bool,
}

impl Currency {
    /// A number with its currency, if it has one: `$120`, `120 EUR`, `120`.
    pub fn shown(currency: Option<&Self>, number: &str) -> String {
        match currency {
            None => number.to_owned(),
            Some(Self { name, is_before: false }) => format!("{number} {name}"),
            // `$120`, but `EUR 120`.
            Some(Self { name, .. }) if name.ends_with(char::is_alphabetic) => format!("{name} {number}"),
            Some(Self { name, .. }) => format!("{name}{number}"),
        }
    }
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq)]
pub struct Money {
    /// Above 0.
    pub amount: f64,
    /// `None`: none was written.
    pub currency: Option<Currency>,
}

impl Money {
    /// Reads `120`, `120EUR`, `120 EUR`, `$120` or `EUR 120`.
    ///
    /// # Errors
    /// There is no number above 0, or more beside it than one currency; in words, without the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "write a number above 0, with or without a currency, such as 190, 190EUR or $190".to_owned();
        let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
        let text = text.trim();
        let begin = text.find(is_of_number).ok_or_else(wrong)?;
        let length = text[begin..].find(|letter| !is_of_number(letter)).unwrap_or(text.len() - begin);
        let (before, number, after) = (&text[..begin], &text[begin..begin + length], &text[begin + length..]);
        let amount = number.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
        let amount = amount.ok_or_else(wrong)?;
        let is_name = |name: &str| {
            name.chars().count() <= NAME_MAX
                && name.chars().all(|letter| !letter.is_ascii_digit() && !"-+.,=/_ ".contains(letter))
        };
        let currency = match [before.trim(), after.trim()] {
            ["", ""] => None,
            [name, ""] | ["", name] if is_name(name) => {
                Some(Currency { name: name.to_owned(), is_before: after.trim().is_empty() })
            }
            _ => return Err(wrong()),
        };
        Ok(Self { amount, currency })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_currency_is_kept_as_it_was_written() {
        for (text, amount, shown) in [
            ("120", 120.0, "5"),
            ("120EUR", 120.0, "5 EUR"),
            (" 120 EUR ", 120.0, "5 EUR"),
            ("$120", 120.0, "$5"),
            ("\u{20ac} 0.08", 0.08, "\u{20ac}5"),
            ("EUR 99.5", 99.5, "EUR 5"),
            ("US$120", 120.0, "US$5"),
        ] {
            let money = Money::parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
            assert!((money.amount - amount).abs() < 1e-12, "{text}: {money:?}");
            assert_eq!(Currency::shown(money.currency.as_ref(), "5"), shown, "{text}");
        }
        for text in ["", "EUR", "0", "-5", "-5EUR", "1,200", "1e5", "12.3.4", "$5EUR", "5EUR7", "nan", "inf"] {
            assert!(Money::parse(text).is_err(), "{text}");
        }
    }
}
