import type { Invitation } from '../../../server/src/contract.ts'

export const organization = {
  title: 'Organization',
  tabs: { members: 'Members', invitations: 'Invitations', settings: 'Settings', audit: 'Audit log' },

  members: 'Members',
  name: 'Name',
  role: 'Role',
  joined: 'Joined',
  joinedOn: (day: string) => `Joined ${day}`,
  you: 'You',

  invite: 'Invite',
  inviteTitle: 'Invite a member',
  inviteDescription: 'The emailed link is valid for 7 days.',
  email: 'Email',
  sendInvitation: 'Send invitation',
  sentTo: (email: string) => `Invitation sent to ${email}.`,
  seeMembers: 'See members',
  roles: {
    admin: 'Like a member, and manages people, billing and the organization.',
    member: 'Deploys, uses and terminates models.',
    viewer: 'Sees the catalog, members and usage, but cannot deploy.',
  },

  noInvitations: 'No invitations',
  noInvitationsHint: 'Invite your teammates and choose a role for each.',
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
  mailPending: 'Sending the email.',
  mailSent: (when: string) => `Email sent ${when}.`,
  mailFailed: 'The email could not be sent.',
  resend: 'Send again',
  resendTo: (email: string) => `Send again to ${email}`,
  resent: (email: string) => `Sent again to ${email}. The previous link no longer works.`,

  settings: 'Organization settings',
  readOnly: 'Only admins can change these settings.',
  description: 'Description',
  descriptionHint: 'Visible to members.',
  noDescription: 'None',
  slug: 'Slug',
  slugHint: 'A unique name that never changes.',
  created: 'Created',
  status: 'Status',
  organizationStatus: { active: 'Active', suspended: 'Suspended', closed: 'Closed' },
}
