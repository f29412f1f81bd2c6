/** What became of a deployment, and notifications of the browser about it. */
export const news = {
  headlines: {
    ready: (name: string) => `${name} is ready.`,
    failed: (name: string) => `${name} has failed.`,
    settings: (name: string, by: string) => `${by} changed ${name}.`,
    sleep: (name: string, by: string) => `${by} put ${name} to sleep.`,
    wake: (name: string, by: string) => `${by} woke ${name}.`,
    termination: (name: string, by: string) => `${by} terminates ${name}.`,
  },
  open: 'Open',
  unseen: (count: number) => (count === 1 ? '1 deployment has news' : `${count} deployments have news`),

  notifications: 'Notifications',
  notificationsDescription:
    'When a deployment is ready, fails or is changed by somebody else while you look at another window. Saved in this browser.',
  turnOn: 'Turn on notifications',
  turnOff: 'Turn off notifications',
  on: 'Notifications are on.',
  refused: 'Your browser blocks notifications of this site. Allow them in its settings for the site.',
  insecure: 'Browsers show notifications only of sites with HTTPS.',
}
