/** Texts of actions on several deployments. */
export const bulk = {
  select: (name: string) => `Select ${name}`,
  bar: 'Selected deployments',
  selectAll: 'Select all',
  selected: (count: number) => `${count} selected`,
  clear: 'Clear selection',
  button: (action: string, count: number) => `${action} ${count}`,
  actions: { sleep: 'Sleep', wake: 'Wake', terminate: 'Terminate' },
  titles: {
    sleep: (count: number) =>
      count === 1 ? 'Put 1 deployment to sleep?' : `Put ${count} deployments to sleep?`,
    wake: (count: number) => (count === 1 ? 'Wake 1 deployment?' : `Wake ${count} deployments?`),
    terminate: (count: number) =>
      count === 1 ? 'Terminate 1 deployment?' : `Terminate ${count} deployments?`,
  },
  words: {
    sleep: 'Requests in flight have 30 seconds. The next request wakes a deployment again.',
    wake: 'They start now, and cost as much as before.',
    terminate: 'Requests will fail, and the hardware is released. You cannot undo this.',
  },
  affected: 'Affected deployments',
  shared: (organization: string) => `Shared with ${organization}`,
  ownerOnly: 'Only its owner calls it',
  used: (when: string) => `used ${when}`,
  neverUsed: 'never used',
  left: 'Not affected',
  reasons: {
    role: 'your role does not allow it',
    asleep: 'sleeps already',
    awake: 'is awake already',
    notRunning: 'does not run',
    ended: 'has ended',
  },
  waiting: 'Waiting',
  running: 'In progress',
  done: { sleep: 'Falls asleep', wake: 'Starting', terminate: 'Terminating' },
  close: 'Done',
  retry: (count: number) => `Try ${count} again`,
  finished: (done: number, failed: number) => {
    if (failed > 0) return `${done} done, ${failed} failed.`
    return done === 1 ? 'It is done.' : `All ${done} are done.`
  },
}
