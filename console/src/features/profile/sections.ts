/** The anchors of sections of the profile page. */
export const sections = {
  signIn: 'sign-in',
  secondFactor: 'second-factor',
  sessions: 'sessions',
  scriptSessions: 'sessions-for-scripts',
  commandLine: 'command-line',
  invitations: 'invitations',
  data: 'data',
} as const
