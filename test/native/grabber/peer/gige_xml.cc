// The camera's description of itself: feature names of the GenICam Standard Features Naming Convention over
// the registers of gige_registers.h.
#include <cstdio>
#include <string>

#include "gige_registers.h"

namespace surgiclaw::peer {

namespace {

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%x", value);
  return text;
}

std::string tag(const char* name, const std::string& content) {
  return "<" + std::string(name) + ">" + content + "</" + name + ">\n";
}

std::string node(const char* kind, const std::string& name, const std::string& content) {
  return "<" + std::string(kind) + " Name=\"" + name + "\">\n" + content + "</" + kind + ">\n";
}

std::string reg(const char* kind, const std::string& name, uint32_t address, const char* access = "RW") {
  std::string content = tag("Address", hex(address)) + tag("Length", "4") + tag("AccessMode", access) +
                        tag("pPort", "Device") + tag("Cachable", "NoCache");
  if (std::string(kind) == "IntReg") content += tag("Sign", "Unsigned");
  return node(kind, name, content + tag("Endianess", "BigEndian"));
}

/// An integer feature over a register of its own; the bounds are numbers or names of nodes.
std::string integer(const std::string& name, uint32_t address, const std::string& min, const std::string& max,
                    int increment = 1) {
  const auto bound = [](const char* plain, const char* reference, const std::string& value) {
    return value.find_first_not_of("0123456789") == std::string::npos ? tag(plain, value)
                                                                      : tag(reference, value);
  };
  return node("Integer", name,
              tag("pValue", name + "Reg") + bound("Min", "pMin", min) + bound("Max", "pMax", max) +
                  tag("Inc", std::to_string(increment))) +
         reg("IntReg", name + "Reg", address);
}

std::string real(const std::string& name, uint32_t address, const char* min, const char* max,
                 const char* unit) {
  return node("Float", name,
              tag("pValue", name + "Reg") + tag("Min", min) + tag("Max", max) + tag("Unit", unit)) +
         reg("FloatReg", name + "Reg", address);
}

std::string difference(const std::string& name, const char* whole, const char* part, const char* binning) {
  return node("IntSwissKnife", name,
              "<pVariable Name=\"W\">" + std::string(whole) + "</pVariable>\n<pVariable Name=\"P\">" + part +
                  "</pVariable>\n<pVariable Name=\"B\">" + binning + "</pVariable>\n" +
                  tag("Formula", "W / B - P"));
}

struct Entry {
  const char* name;
  uint32_t value;
};

template <size_t Count>
std::string enumeration(const std::string& name, uint32_t address, const Entry (&entries)[Count]) {
  std::string content;
  for (const Entry& entry : entries)
    content += node("EnumEntry", entry.name, tag("Value", std::to_string(entry.value)));
  return node("Enumeration", name, content + tag("pValue", name + "Reg")) +
         reg("IntReg", name + "Reg", address);
}

std::string command(const std::string& name, const std::string& over, int value) {
  return node("Command", name, tag("pValue", over) + tag("CommandValue", std::to_string(value)));
}

std::string deviceText(const std::string& name, uint32_t address, int length) {
  return node("StringReg", name,
              tag("Address", hex(address)) + tag("Length", std::to_string(length)) + tag("AccessMode", "RO") +
                  tag("pPort", "Device"));
}

constexpr Entry kFormats[] = {{"Mono8", 0x01080001},   {"Mono10", 0x01100003}, {"Mono10Packed", 0x010C0004},
                              {"Mono10p", 0x010A0046}, {"Mono12", 0x01100005}, {"Mono12Packed", 0x010C0006},
                              {"Mono12p", 0x010C0047}, {"Mono14", 0x01100025}, {"Mono16", 0x01100007},
                              {"YUV422_8", 0x02100032}};
constexpr Entry kModes[] = {{"Continuous", 0}, {"SingleFrame", 1}};
constexpr Entry kSelectors[] = {{"FrameStart", 0}};
constexpr Entry kOnOff[] = {{"Off", 0}, {"On", 1}};
constexpr Entry kSources[] = {{"Software", 0}, {"Line0", 1}};
constexpr Entry kEdges[] = {{"RisingEdge", 0}, {"FallingEdge", 1}};

}  // namespace

std::string genicamXml(const CameraModel& model) {
  std::string features;
  for (const char* name : {"DeviceVendorName",
                           "DeviceModelName",
                           "DeviceSerialNumber",
                           "SensorWidth",
                           "SensorHeight",
                           "Width",
                           "Height",
                           "OffsetX",
                           "OffsetY",
                           "BinningHorizontal",
                           "BinningVertical",
                           "PixelFormat",
                           "PayloadSize",
                           "AcquisitionMode",
                           "AcquisitionStart",
                           "AcquisitionStop",
                           "AcquisitionFrameRate",
                           "TriggerSelector",
                           "TriggerMode",
                           "TriggerSource",
                           "TriggerActivation",
                           "TriggerSoftware",
                           "ExposureTime",
                           "Gain",
                           "GevSCPSPacketSize",
                           "GevSCPD",
                           "GevTimestampTickFrequency"}) {
    features += tag("pFeature", name);
  }
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
         "<RegisterDescription ModelName=\"" +
         model.model + "\" VendorName=\"" + model.vendor +
         "\" StandardNameSpace=\"None\" SchemaMajorVersion=\"1\" SchemaMinorVersion=\"0\" "
         "SchemaSubMinorVersion=\"0\" "
         "MajorVersion=\"1\" MinorVersion=\"0\" SubMinorVersion=\"0\" ToolTip=\"test peer\" "
         "ProductGuid=\"00000000-0000-0000-0000-000000000001\" "
         "VersionGuid=\"00000000-0000-0000-0000-000000000001\" "
         "xmlns=\"http://www.genicam.org/GenApi/Version_1_0\">\n" +
         node("Category", "Root", features) + deviceText("DeviceVendorName", bootstrap::kManufacturer, 32) +
         deviceText("DeviceModelName", bootstrap::kModel, 32) +
         deviceText("DeviceSerialNumber", bootstrap::kSerial, 16) +
         reg("IntReg", "SensorWidth", feature::kSensorWidth, "RO") +
         reg("IntReg", "SensorHeight", feature::kSensorHeight, "RO") +
         difference("WidthMax", "SensorWidth", "OffsetXReg", "BinningHorizontalReg") +
         difference("HeightMax", "SensorHeight", "OffsetYReg", "BinningVerticalReg") +
         difference("OffsetXMax", "SensorWidth", "WidthReg", "BinningHorizontalReg") +
         difference("OffsetYMax", "SensorHeight", "HeightReg", "BinningVerticalReg") +
         integer("Width", feature::kWidth, "16", "WidthMax", 8) +
         integer("Height", feature::kHeight, "16", "HeightMax", 2) +
         integer("OffsetX", feature::kOffsetX, "0", "OffsetXMax", 8) +
         integer("OffsetY", feature::kOffsetY, "0", "OffsetYMax", 2) +
         integer("BinningHorizontal", feature::kBinningHorizontal, "1", "4") +
         integer("BinningVertical", feature::kBinningVertical, "1", "4") +
         enumeration("PixelFormat", feature::kPixelFormat, kFormats) +
         node("IntSwissKnife", "PayloadSize",
              "<pVariable Name=\"W\">WidthReg</pVariable>\n<pVariable Name=\"H\">HeightReg</pVariable>\n"
              "<pVariable Name=\"F\">PixelFormatReg</pVariable>\n" +
                  tag("Formula", "(W * H * ((F &gt;&gt; 16) &amp; 0xff) + 7) / 8")) +
         enumeration("AcquisitionMode", feature::kAcquisitionMode, kModes) +
         reg("IntReg", "AcquisitionReg", feature::kAcquisition) +
         command("AcquisitionStart", "AcquisitionReg", 1) + command("AcquisitionStop", "AcquisitionReg", 0) +
         node("Float", "AcquisitionFrameRate",
              tag("pValue", "FrameRateOfPeriod") + tag("Min", "0.1") + tag("Max", "1000") +
                  tag("Unit", "Hz")) +
         node("Converter", "FrameRateOfPeriod",
              tag("FormulaTo", "1000000 / FROM") + tag("FormulaFrom", "1000000 / TO") +
                  tag("pValue", "FramePeriodReg") + tag("Slope", "Decreasing")) +
         node("IntReg", "FramePeriodReg",
              tag("Address", hex(feature::kFramePeriodUs)) + tag("Length", "4") + tag("AccessMode", "RW") +
                  tag("pPort", "Device") + tag("Cachable", "NoCache") + tag("Sign", "Unsigned") +
                  tag("Endianess", "BigEndian")) +
         enumeration("TriggerSelector", feature::kTriggerSelector, kSelectors) +
         enumeration("TriggerMode", feature::kTriggerMode, kOnOff) +
         enumeration("TriggerSource", feature::kTriggerSource, kSources) +
         enumeration("TriggerActivation", feature::kTriggerActivation, kEdges) +
         reg("IntReg", "TriggerSoftwareReg", feature::kTriggerSoftware) +
         command("TriggerSoftware", "TriggerSoftwareReg", 1) +
         real("ExposureTime", feature::kExposureTime, "20", "1000000", "us") +
         real("Gain", feature::kGain, "0", "24", "dB") +
         node("Integer", "GevSCPSPacketSize",
              tag("pValue", "GevSCPSPacketSizeReg") + tag("Min", "576") + tag("Max", "65535") +
                  tag("Inc", "1")) +
         node("MaskedIntReg", "GevSCPSPacketSizeReg",
              tag("Address", hex(bootstrap::kStreamPacketSize)) + tag("Length", "4") +
                  tag("AccessMode", "RW") + tag("pPort", "Device") + tag("Cachable", "NoCache") +
                  tag("LSB", "31") + tag("MSB", "16") + tag("Sign", "Unsigned") +
                  tag("Endianess", "BigEndian")) +
         integer("GevSCPD", bootstrap::kStreamPacketDelay, "0", "100000000") +
         node("Integer", "GevTimestampTickFrequency", tag("pValue", "TickReg")) +
         reg("IntReg", "TickReg", bootstrap::kTickFrequencyLow, "RO") + node("Port", "Device", "") +
         "</RegisterDescription>\n";
}

}  // namespace surgiclaw::peer
