/** The keys of each area, first to last; `or` separates keys with the same or the opposite effect. */
export const shortcuts = {
  title: 'Keyboard shortcuts',
  or: 'or',
  everywhere: 'Everywhere',
  palette: 'Search or jump to a page, person, deployment or model',
  list: 'Show this list',
  close: 'Close a dialog or menu',
  tabs: 'Switch between the tabs of a page',
  playground: 'Playground',
  send: 'Send the message',
  newLine: 'Start a new line',
  stop: 'Stop the answer, or leave an edit',
  charts: 'Charts',
  point: 'Read the previous or next point',
  ends: 'Read the first or last point',
}
