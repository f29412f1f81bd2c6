export const shell = {
  skipToContent: 'Skip to content',
  navigation: 'Main',
  openNavigation: 'Open navigation',
  apiReference: 'API reference',
  signOut: 'Sign out',
  /** What else people type to find it */
  signOutWords: 'log out logout',
  switchOrganization: 'Switch organization',
  switchTo: (name: string) => `Switch to ${name}`,
  switchedTo: (name: string) => `Switched to ${name}.`,
  account: 'account menu',
  invitations: (count: number) => (count === 1 ? '1 pending invitation' : `${count} pending invitations`),
  theme: 'Theme',
  themes: { system: 'System', light: 'Light', dark: 'Dark' },
  formerMember: (former: string, next: string) =>
    `You are no longer a member of ${former}. You are now in ${next}.`,
  offline: 'No connection to the server. This page may be out of date.',
  verifyEmail: (email: string) =>
    `Verify your email to deploy models and invite people: open the link that we sent to ${email}.`,
  suspended: (name: string) =>
    `The operator of this server suspended ${name}. You can still look at everything, but not change anything or use models, and its deployments end soon. Ask the operator to resume it.`,
  closed: (name: string) =>
    `The operator of this server closed ${name}. You can still look at everything, but not change anything or use models.`,
  sendAgain: 'Send it again',
  emailSent: 'We sent a new link.',
  role: { super_admin: 'Owner', admin: 'Admin', member: 'Member', viewer: 'Viewer' },
  commands: 'Search or jump to…',
  searchCommands: 'Search pages, settings, people, deployments and models',
  noCommand: 'Nothing found.',
  commandGroups: {
    pages: 'Go to',
    actions: 'Actions',
    deployments: 'Deployments',
    members: 'Members',
    models: 'Models',
  },
  commandOn: (name: string, action: string) => `${name}: ${action}`,
  deployModel: 'Deploy a model',
  invite: 'Invite a member',
  switchTheme: (theme: string) => `Theme: ${theme}`,
}
