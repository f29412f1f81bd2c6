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
  inviteDescriptionFile:
    'This server sends no email. Afterwards, copy the link from the list and pass it on. It is valid for 7 days.',
  email: 'Email',
  sendInvitation: 'Send invitation',
  createInvitation: 'Create invitation',
  createdFor: (email: string) => `Invitation for ${email} created. Copy its link to pass it on.`,
  copyLink: 'Copy link',
  copyLinkFor: (email: string) => `Copy the link for ${email}`,
  copiedLink: (email: string) => `Copied. The link is only for ${email}.`,
  mailWritten: 'Not emailed: this server has no mail server. Copy the link and pass it on.',
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
  resending: {
    button: 'Send again',
    buttonFor: (email: string) => `Send again to ${email}`,
    done: (email: string) => `Sent again to ${email}. The previous link no longer works.`,
  },
  /** The same without a mail server */
  renewal: {
    button: 'Renew link',
    buttonFor: (email: string) => `Renew the link for ${email}`,
    done: (email: string) => `New link for ${email}. The previous link no longer works.`,
  },

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
