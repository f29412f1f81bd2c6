/** The log of a deployment’s engines. */
export const engineLog = {
  logsLabel: 'Engine log',
  filterLines: 'Filter lines',
  follow: 'Follow',
  followHint: 'Scroll to new lines',
  pause: 'Pause',
  resume: 'Resume',
  newLines: (count: number) => (count === 1 ? '1 new line' : `${count} new lines`),
  wrap: 'Wrap',
  copyLog: 'Copy',
  copiedLog: 'Copied the log.',
  /** `count` selects the plural, `written` is the formatted count */
  lineCount: (count: number, written: string) => `${written} ${count === 1 ? 'line' : 'lines'}`,
  filteredOf: (shown: string, lineCount: string) => `${shown} of ${lineCount}`,
  noLines: 'No lines yet. The log starts with the engine.',
  noLinesEnded: 'No log: the engine never started, or the deployment was terminated over 30 days ago.',
  noMatch: 'No line contains this text.',
  reconnecting: 'The connection to the log was lost. Reconnecting…',
}
