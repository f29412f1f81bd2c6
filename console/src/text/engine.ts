/** Texts of the engine of a deployment and its options. */
export const engine = {
  title: 'Engine',
  advanced: 'Advanced',
  options: 'Engine options',
  optionsHint: 'One option of the engine’s command line in each line, such as kv-cache-dtype=fp8.',
  malformed: (line: string) => `“${line}” is no option. Write name=value.`,
  command: 'Command line',
  setOptions: 'Set options',
  whenRunning:
    'The model keeps serving until an engine with these options takes over. Without room for both, it changes when the engine starts next.',
  note: 'The engine starts with these options.',
  none: 'No options are set.',
  update: (version: string) => `Update to ${version}`,
}
