// build/desk-records COMMAND ARGUMENT...: results, tables and pages. A program of its own beside build/desk, because
// make asks that one at every call and it must be built in a moment; a JSON library takes longer.
#include "checks/desk/dispatch.hpp"
#include "checks/desk/records/commands.hpp"

namespace lab::desk {
namespace {

constexpr Command COMMANDS[] = {
    {"bench", bench_command, "bench SHAPES ROUNDS JSON STAGE LAB...  times stages and PyTorch in turns; bench-1"},
    {"profile", profile_command, "profile LAB SHAPE [JSON]               one launch under Nsight Compute; profile-1"},
    {"phases", phases_command, "phases SHAPE JSON LAB...                a kernel beside its parts; phases-1"},
    {"resources", resources_command,
     "resources LABS [JSON]                  registers, shared memory, spills; resources-1"},
    {"counters", counters_command, "counters LABS [JSON]                   what the CPU execution counts; counted-1"},
    {"counters-table", counters_table_command,
     "counters-table [SHAPE]                 counted against what Nsight Compute counted"},
    {"floors-table", floors_table_command, "floors-table [SHAPE]                   the least times, and the measured"},
    {"bits", bits_command, "bits RECORD QUICK FILE LAB...          digests of outputs, recorded or compared; bits-1"},
    {"archs", archs_command, "archs                                  every stage for every architecture it claims"},
    {"machine", machine_command, "machine [SANITIZER]                    what a measurement says of its machine"},
    {"sanitizer-report", sanitizer_report_command,
     "sanitizer-report [-j FILE] LOGS        what compute-sanitizer's logs say; tools-1"},
    {"blindness-table", blindness_table_command, "blindness-table LABS                   of `make blindness`"},
    {"tools-table", tools_table_command, "tools-table LABS                       what each tool sees of each bug"},
    {"climb-table", climb_table_command, "climb-table LABS                       the versions of the notes in order"},
    {"plan", plan_command, "plan STAGE [VARIANT]                   tile and shared memory at both head dimensions"},
    {"hunks", hunks_command, "hunks REGEX OLD NEW                    the hunks of a diff that have a line with REGEX"},
    {"pages", pages_command, "pages [--check] [PAGE...]              renews or compares the blocks of the pages"},
};

}  // namespace
}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk-records", lab::desk::COMMANDS, argc, argv); }
