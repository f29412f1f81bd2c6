/** The anchors of sections of the profile page. */
export const sections = {
  signIn: 'sign-in',
  secondFactor: 'second-factor',
  sessions: 'sessions',
  data: 'data',
} as const
