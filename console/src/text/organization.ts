import type { Invitation } from '../../../server/src/contract.ts'

export const organization = {
  title: 'Organization',
  tabs: { members: 'Members', invitations: 'Invitations', settings: 'Settings' },

  members: 'Members',
  name: 'Name',
  role: 'Role',
  joined: 'Joined',
  joinedOn: (day: string) => `Joined ${day}`,
  you: 'You',

  invite: 'Invite',
  inviteTitle: 'Invite somebody',
  inviteDescription: 'They get a mail with a link that is good for 7 days.',
  email: 'E-mail',
  sendInvitation: 'Send invitation',
  sentTo: (email: string) => `The invitation to ${email} is on its way.`,
  seeMembers: 'See the members',
  roles: {
    admin: 'Does all that members do, manages people, billing and the organization.',
    member: 'Deploys models, uses and terminates them.',
    viewer: 'Sees catalog, members and usage; deploys nothing.',
  },

  noInvitations: 'Nobody is invited',
  noInvitationsHint: 'Invite the people that you work with. Each gets a role of their own.',
  statuses: {
    pending: 'Pending',
    accepted: 'Accepted',
    rejected: 'Declined',
    expired: 'Expired',
  } satisfies Record<Invitation['status'], string>,
  invited: (role: string, when: string, by: string | undefined) =>
    by ? `${role}, invited ${when} by ${by}` : `${role}, invited ${when}`,
  expires: (when: string) => `The link expires ${when}.`,
  expired: (when: string) => `The link expired ${when}.`,
  answered: (when: string) => `Answered ${when}.`,
  mailPending: 'The mail is being sent.',
  mailSent: (when: string) => `Mail sent ${when}.`,
  mailFailed: 'The mail could not be sent.',
  resend: 'Send again',
  resendTo: (email: string) => `Send again to ${email}`,
  resent: (email: string) => `Sent again to ${email}. The older link no longer works.`,

  settings: 'About the organization',
  readOnly: 'Admins can change this.',
  description: 'Description',
  descriptionHint: 'Members see it here.',
  noDescription: 'None',
  slug: 'Slug',
  slugHint: 'Readable and unique; it never changes.',
  created: 'Created',
  status: 'Status',
  organizationStatus: { active: 'Active', suspended: 'Suspended', closed: 'Closed' },
}
