import { useQuery } from '@tanstack/react-query'
import { EllipsisVertical } from 'lucide-react'
import { Badge } from '../../../components/badge.tsx'
import { Button } from '../../../components/button.tsx'
import { Menu, MenuItem } from '../../../components/menu.tsx'
import { Cell } from '../../../components/table.tsx'
import type { OrganizationPerson } from '../../../contract.ts'
import { formatRelative } from '../../../format.ts'
import { useMailIsFile } from '../../../domain/installation.ts'
import { text } from '../../../text/index.ts'
import { MailStatus } from '../mail-status.tsx'
import { useManagedRoles } from '../managed-roles.ts'
import { invitationsQuery } from '../queries.ts'
import { useInvitationActions } from '../use-invitation-actions.ts'

const words = text.organization

/** Whom an open invitation awaits, for admins. */
export function InvitationRow({ person: { id, email, role } }: { person: OrganizationPerson }) {
  const { data: invitations } = useQuery(invitationsQuery)
  const isFile = useMailIsFile()
  const invitation = invitations?.find((one) => one.id === id)
  return (
    <tr className="h-13">
      <Cell className="w-full max-w-0 py-1.5!">
        <div className="flex items-center gap-2">
          <span className="truncate font-medium" title={email}>
            {email}
          </span>
          <Badge tone="busy">{text.people.invited}</Badge>
        </div>
        {invitation && (
          <>
            <p className="text-[0.8125rem] text-muted">
              {words.expires(formatRelative(invitation.expires_at))} {isFile && words.notEmailed}
            </p>
            {invitation.email_status === 'failed' && <MailStatus invitation={invitation} isFile={isFile} />}
          </>
        )}
      </Cell>
      <Cell className="py-1.5!">
        <Badge>{text.shell.role[role]}</Badge>
      </Cell>
      <Cell className="hidden lg:table-cell" />
      <Cell className="hidden md:table-cell" />
      <Cell className="hidden sm:table-cell" />
      <Cell className="py-1.5! pl-0">
        <Actions id={id} email={email} role={role} isFile={isFile} />
      </Cell>
    </tr>
  )
}

interface ActionsProps extends Pick<OrganizationPerson, 'id' | 'email' | 'role'> {
  isFile: boolean
}

function Actions({ id, email, role, isFile }: ActionsProps) {
  const mayRenew = useManagedRoles().includes(role)
  const { copyLink, resend, cancel } = useInvitationActions({ id, invitee_email: email })
  return (
    <Menu
      trigger={
        <Button variant="quiet" size="tiny" aria-label={words.actionsFor(email)}>
          <EllipsisVertical />
        </Button>
      }
    >
      {mayRenew && isFile && <MenuItem onSelect={copyLink.run}>{words.copyLink}</MenuItem>}
      {mayRenew && (
        <MenuItem onSelect={resend.run}>{words[isFile ? 'renewal' : 'resending'].button}</MenuItem>
      )}
      <MenuItem dangerous onSelect={cancel.run}>
        {words.cancelInvitation}
      </MenuItem>
    </Menu>
  )
}
