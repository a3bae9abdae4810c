// Catch2 2 or 3, whichever is installed.
#pragma once

#if ENTITABLE_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
