// Catch2 2 or 3, whichever is installed.
#pragma once

#ifndef ENTITABLE_CATCH2_MAJOR
#error "Only tests that link test_main (tests/Catch2.cmake) can include Catch2"
#endif
#if ENTITABLE_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
