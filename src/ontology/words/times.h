#pragma once

#include <string_view>

namespace strata::ontology::words {

/// A whole number of four digits under such a name is a year.
inline constexpr std::string_view kYearWords[] = {"year"};

/// A whole number of ten or thirteen digits under such a name is seconds or milliseconds.
inline constexpr std::string_view kEpochWords[] = {"epoch", "time", "timestamp", "ts"};

/// As days are written; the first three letters do.
inline constexpr std::string_view kMonths[] = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december",
};

/// Parts of a time: never a thing of their own.
inline constexpr std::string_view kTimeParts[] = {
    "date",   "day",      "hour", "month", "period",  "quarter",
    "season", "semester", "time", "week",  "weekday", "year",
};

/// Times in the life of a thing, as against the time of what a row tells of.
inline constexpr std::string_view kLifeWords[] = {
    "activated", "birth",      "birthday", "born",     "built",      "commissioned",
    "created",   "deployed",   "dob",      "employed", "enrolled",   "established",
    "fitted",    "founded",    "hire",     "hired",    "install",    "installation",
    "installed", "introduced", "joined",   "launch",   "launched",   "manufactured",
    "mounted",   "onboarded",  "opened",   "opening",  "registered", "registration",
    "signup",    "since",      "updated",  "valid",
};

/// Where a thing stands: numbers of the thing, not of what a row tells of.
inline constexpr std::string_view kPlaceWords[] = {
    "altitude", "elevation", "lat", "latitude", "lng", "lon", "longitude",
};

}  // namespace strata::ontology::words
