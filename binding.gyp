{
  "targets": [
    {
      "target_name": "surgiclaw",
      "type": "none",
      "actions": [
        {
          "action_name": "hand over to CMake, the one native build definition",
          "inputs": ["CMakeLists.txt"],
          "outputs": ["build/addons/cell.node"],
          "action": ["bash", "scripts/build-native.sh"]
        }
      ]
    }
  ]
}
