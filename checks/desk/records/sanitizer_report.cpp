#include <regex>

#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"

namespace lab::desk {
namespace {

void add_word(std::vector<std::string>& list, const std::string& word) {
  if (!word.empty()) add_once(list, word);
}

bool in_the_stage(const std::string& where) {
  return where.find("kernel.cu") != where.npos || where.find(".patch:") != where.npos;
}

// "at void <unnamed>::attention<(int)64>(...)+0x1b70 in kernel.cu:146" -> "stages/v2b_single_warp/kernel.cu:146"
std::string place(const std::string& stage, const std::string& text) {
  static const std::regex IN_FILE(" in ([^ ]*:[0-9]+)");
  std::smatch found;
  if (!std::regex_search(text, found, IN_FILE)) return "";
  std::string file = found[1];
  file = file.substr(file.rfind('/') + 1);
  if (file.starts_with("kernel.cu:")) return "stages/" + stage + "/" + file;
  if (file.find(".patch:") != file.npos) return "stages/" + stage + "/bugs/" + file;
  if (file.find(".cuh:") == file.npos) return "CUDA header " + file;
  const bool wrapper = fs::exists("common/ptx/" + file.substr(0, file.find(':')));
  return (wrapper ? "common/ptx/" : "common/") + file;
}

std::string kernel_of(const std::string& text) {
  static const std::regex KERNEL("\\battention\\b(<[^>]*>)?");
  std::smatch found;
  if (!std::regex_search(text, found, KERNEL)) return "";
  std::string name = found.str();
  return replaced(replaced(name, "(int)", ""), " ", "");
}

// "Error: Race reported between Write access at ... in kernel.cu:146" -> "write at stages/.../kernel.cu:146"
std::string race_side(const std::string& stage, std::string text) {
  static const std::regex BEFORE("^(.*between | +and )"), AFTER(" access.*");
  const std::string at = place(stage, text);
  text = std::regex_replace(std::regex_replace(text, BEFORE, ""), AFTER, "");
  for (char& c : text) c = char(std::tolower((unsigned char)c));
  return text + " at " + at;
}

// The log of one run: records, each of a line that starts with a capital letter and the indented ones after it.
class LogReader {
 public:
  LogReader(ToolReport& report, const SanitizerLog& log) : report_(report), log_(log) {}

  void read() {
    const std::string MARK = "========= ";
    for (const std::string& line : lines_of(log_.text)) {
      if (!line.starts_with(MARK)) continue;
      const std::string text = line.substr(MARK.size());
      if (text.find("SUMMARY") != text.npos) {
        close();
        ended_ = true;
      } else if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z' && !text.starts_with("COMPUTE-SANITIZER") &&
                 !text.starts_with("Target application")) {
        open(text);
      } else if (!what_.empty()) {
        detail(text);
      }
    }
    close();
    ++report_.runs;
    report_.ended += ended_;
  }

 private:
  void open(const std::string& text) {
    close();
    what_ = text, kernel_ = kernel_of(text);
    if (text.find("Race reported between") != text.npos) {
      first_ = race_side(report_.stage, text);
      what_ = text.starts_with("Warning") ? "race (warning)" : "race";
    } else if (text.starts_with("Program hit")) {
      static const std::regex CAUSE(" due to .*API call to");
      what_ = std::regex_replace(text, CAUSE, " at", std::regex_constants::format_first_only);
      if (what_.ends_with('.')) what_.pop_back();
      const std::string code = what_.substr(0, what_.find(" at "));
      if (code == hit_) what_.clear();  // the calls after the failed one only repeat it
      hit_ = code;
    }
  }

  void detail(const std::string& text) {
    static const std::regex AND("^ +and "), ACCESS("^ +Access to .* is "), FRAME("^ +(at |Device Frame)"),
        HAZARDS("\\[([0-9]+) hazards?\\]");
    if (!first_.empty()) {
      if (!std::regex_search(text, AND)) return;
      const std::string second = race_side(report_.stage, text);
      if (kernel_.empty()) kernel_ = kernel_of(text);
      std::smatch found;
      const long times = std::regex_search(text, found, HAZARDS) ? std::atol(found.str(1).c_str()) : 1;
      add(first_ < second ? first_ + " and " + second : second + " and " + first_, times);
    } else if (std::regex_search(text, ACCESS)) {
      std::string how = text.substr(text.find(" is ") + 4);
      how.erase(how.find_last_not_of(' ') + 1);
      what_ += ": " + how;
    } else if (std::regex_search(text, FRAME)) {
      // The innermost frame; of NVIDIA's headers and our helpers, who called them.
      if (kernel_.empty()) kernel_ = kernel_of(text);
      const std::string at = place(report_.stage, text);
      if (!at.empty() && !in_the_stage(where_)) where_ = "at " + at;
    }
  }

  // An error that is no race: one record, one time.
  void close() {
    if (!what_.empty() && first_.empty()) add(where_, 1);
    what_.clear(), first_.clear(), where_.clear(), kernel_.clear();
  }

  void add(const std::string& where, long times) {
    auto& all = report_.findings;
    auto same = [&](const ToolFinding& f) { return f.tool == log_.tool && f.what == what_ && f.where == where; };
    auto found = std::ranges::find_if(all, same);
    if (found == all.end()) found = all.insert(all.end(), ToolFinding{log_.tool, what_, where, 0, {}, {}});
    found->times += times;
    add_word(found->shapes, "(" + log_.shape + ")");
    add_word(found->kernels, kernel_);
    static const std::regex LINE("kernel\\.cu:([0-9]+)|([A-Za-z0-9_]+\\.patch:[0-9]+)");
    for (std::sregex_iterator at(where.begin(), where.end(), LINE), end; at != end; ++at)
      add_word(report_.lines[log_.tool], (*at)[1].matched ? at->str(1) : at->str(2));
  }

  ToolReport& report_;
  const SanitizerLog& log_;
  std::string what_, first_, where_, kernel_, hit_;
  bool ended_ = false;
};

// "2025.3.1.0 (build 36400806) (public-release)"
std::string sanitizer_version(const std::string& tool) {
  for (const std::string& line : lines_of(capture({tool, "--version"}).out))
    if (line.starts_with("Version")) return line.substr(std::min(line.find_first_not_of(' ', 7), line.size()));
  return "";
}

// Logs of one build: STAGE-fixed/ or STAGE-bug-NAME/ with TOOL.SHAPE.log.
ToolReport report_of(const fs::path& build) {
  const std::string name = build.filename().string();
  const std::size_t dash = name.find('-');
  if (dash == name.npos) throw BadInput(build.string() + " is no STAGE-VARIANT");
  const std::string variant = name.substr(dash + 1);
  std::vector<SanitizerLog> logs;
  for (const fs::path& path : files_in(build, ".log")) {
    const std::string file = path.stem().string();
    const std::size_t dot = file.find('.');
    if (dot == file.npos) throw BadInput(path.string() + " is no TOOL.SHAPE.log");
    logs.push_back({file.substr(0, dot), file.substr(dot + 1), read_text(path.string())});
  }
  if (logs.empty()) throw BadInput(build.string() + " has no logs");
  return read_sanitizer_logs(name.substr(0, dash), variant.starts_with("bug-") ? variant.substr(4) : "", logs);
}

}  // namespace

ToolReport read_sanitizer_logs(const std::string& stage, const std::string& bug,
                               const std::vector<SanitizerLog>& logs) {
  ToolReport report;
  report.stage = stage, report.bug = bug;
  for (const SanitizerLog& log : logs) LogReader(report, log).read();
  return report;
}

std::string sanitizer_text(const ToolReport& r) {
  std::string out, tools;
  for (const ToolFinding& f : r.findings)
    out += f.tool + ": " + f.what + (f.kernels.empty() ? "" : ", kernel " + joined(f.kernels, ", ")) +
           format(", %ld time%s\n", f.times, f.times == 1 ? "" : "s") +
           (f.where.empty() ? "" : "    " + f.where + "\n") + "    shapes " + joined(f.shapes, ", ") + "\n";
  if (r.ended < r.runs)
    out += format("%zu of %zu runs ended without a summary: see the logs\n", r.runs - r.ended, r.runs);
  for (const char* tool : SANITIZER_TOOLS) tools += (tools.empty() ? "" : " ") + std::string(tool);
  return out + r.stage + (r.bug.empty() ? "" : " with " + r.bug) +
         format(": %zu finding%s in %zu runs (%s)\n", r.findings.size(), r.findings.size() == 1 ? "" : "s", r.runs,
                tools.c_str());
}

std::string sanitizer_csv(const std::string& machine, const std::vector<ToolReport>& reports) {
  std::string out = "# " + joined(lines_of(machine), ", ") + "\nstage,bug,tool,kinds,lines\n";
  const auto quoted = [](const std::vector<std::string>& words) {
    return words.size() > 1 ? '"' + joined(words, ", ") + '"' : joined(words, "");
  };
  for (const ToolReport& r : reports)
    for (const char* tool : SANITIZER_TOOLS) {
      std::vector<std::string> kinds;
      for (const ToolFinding& f : r.findings)
        if (f.tool == tool) add_word(kinds, f.what);
      const auto lines = r.lines.find(tool);
      out += r.stage + "," + r.bug + "," + tool + "," + quoted(kinds) + "," +
             (lines == r.lines.end() ? "" : quoted(lines->second)) + "\n";
    }
  return out;
}

int machine_command(const Args& args) {
  std::printf("gpu %s\ndriver %s\ncuda %s\n", gpu_field("name").c_str(), gpu_field("driver_version").c_str(),
              nvcc_release().c_str());
  if (!args.empty()) std::printf("sanitizer %s\n", sanitizer_version(args[0]).c_str());
  std::printf("date %s\n", utc_time().substr(0, 10).c_str());
  return 0;
}

int sanitizer_report_command(const Args& args) {
  const fs::path logs = args[0];
  if (!fs::is_directory(logs)) throw BadInput("no logs in " + logs.string());
  std::vector<ToolReport> reports;
  for (const fs::path& path : files_in(logs, ""))
    if (fs::is_directory(path)) reports.push_back(report_of(path));
  if (reports.empty()) throw BadInput("no logs in " + logs.string());
  for (const ToolReport& report : reports) std::fputs(sanitizer_text(report).c_str(), stdout);
  if (args.size() > 1) write_text(args[1], sanitizer_csv(read_text((logs / "machine").string()), reports));
  return std::ranges::all_of(reports, &ToolReport::clean) ? 0 : 1;
}

}  // namespace lab::desk
