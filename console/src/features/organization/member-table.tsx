import { useQuery } from '@tanstack/react-query'
import { useSession } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { MemberMenu } from './member-menu.tsx'
import { membersQuery } from '../../domain/members/queries.ts'

/** Members with roles, and a menu for manageable ones. `services` false leaves programs out. */
export function MemberTable({ services }: { services: boolean }) {
  const members = useQuery(membersQuery)
  const { user } = useSession()
  return (
    <Section flush>
      {members.data ? (
        <Table
          label={text.organization.members}
          head={
            <>
              <HeadCell>{text.organization.name}</HeadCell>
              <HeadCell>{text.organization.role}</HeadCell>
              <HeadCell className="hidden sm:table-cell">{text.organization.joined}</HeadCell>
              <HeadCell>
                <span className="sr-only">{text.organization.actions}</span>
              </HeadCell>
            </>
          }
        >
          {members.data
            .filter(({ kind }) => services || kind === 'person')
            .map((member) => (
              <tr key={member.id}>
                <Cell className="w-full max-w-0">
                  <div className="flex items-center gap-2">
                    <span className="truncate font-medium" title={member.name}>
                      {member.name}
                    </span>
                    {member.kind === 'service' && <Badge>{text.serviceMembers.badge}</Badge>}
                    {member.user_id === user.id && <Badge tone="accent">{text.organization.you}</Badge>}
                  </div>
                  <div className="truncate text-muted" title={member.email}>
                    {member.email}
                  </div>
                  <div className="text-[0.8125rem] text-muted sm:hidden">
                    {text.organization.joinedOn(formatDay(member.joined_at))}
                  </div>
                </Cell>
                <Cell>
                  <Badge>{text.shell.role[member.role]}</Badge>
                </Cell>
                <Cell className="hidden whitespace-nowrap text-muted sm:table-cell">
                  {formatDay(member.joined_at)}
                </Cell>
                <Cell className="pl-0">
                  <MemberMenu member={member} />
                </Cell>
              </tr>
            ))}
        </Table>
      ) : members.error ? (
        <ErrorState error={members.error} onRetry={() => void members.refetch()} />
      ) : (
        <SkeletonRows count={3} />
      )}
    </Section>
  )
}
