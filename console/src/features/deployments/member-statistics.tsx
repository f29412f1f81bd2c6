import type { Deployment, MemberStatistics as Statistics } from '../../contract.ts'
import { Section } from '../../components/page.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { formatDuration, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.deploymentParts

interface MemberStatisticsProps {
  deployment: Deployment
  members: readonly Statistics[]
}

/** Who calls a deployment and how long they wait. Renders nothing if only the owner does. */
export function MemberStatistics({ deployment, members }: MemberStatisticsProps) {
  const { inspect } = useAccess(deployment)
  const isOnlyOwner = members.every(({ user_id: id }) => String(id) === deployment.user_id)
  if (deployment.shared_with === null && isOnlyOwner) return null
  return (
    <Section
      title={inspect ? text.statistics.byMember : text.statistics.ownRequests}
      description={text.statistics.waitingWords}
      flush={members.length > 0}
    >
      {members.length === 0 ? (
        <p className="text-muted">{text.statistics.noRequests}</p>
      ) : (
        <Table
          label={inspect ? text.statistics.byMember : text.statistics.ownRequests}
          head={
            <>
              <HeadCell>{text.statistics.member}</HeadCell>
              <HeadCell numeric>{words.requests}</HeadCell>
              <HeadCell numeric className="hidden md:table-cell">
                {words.inputTokens}
              </HeadCell>
              <HeadCell numeric className="hidden sm:table-cell">
                {words.outputTokens}
              </HeadCell>
              <HeadCell numeric>{text.statistics.waitingMedian}</HeadCell>
              <HeadCell numeric className="hidden sm:table-cell">
                {text.statistics.waitingSlow}
              </HeadCell>
            </>
          }
        >
          {members.map((member) => (
            <MemberRow key={member.user_id} member={member} />
          ))}
        </Table>
      )}
    </Section>
  )
}

function MemberRow({ member }: { member: Statistics }) {
  const { name, email, requests, input_tokens: input, output_tokens: output, waiting_ms: waiting } = member
  const write = (milliseconds: number | undefined) =>
    milliseconds === undefined ? words.noValue : formatDuration(milliseconds)
  return (
    <tr>
      <Cell className="wrap-anywhere">
        {name || email}
        {name && <p className="text-[0.8125rem] text-muted">{email}</p>}
      </Cell>
      <Cell numeric>{formatNumber(requests)}</Cell>
      <Cell numeric className="hidden md:table-cell">
        {formatNumber(input)}
      </Cell>
      <Cell numeric className="hidden sm:table-cell">
        {formatNumber(output)}
      </Cell>
      <Cell numeric className="whitespace-nowrap">
        {write(waiting?.p50)}
      </Cell>
      <Cell numeric className="hidden whitespace-nowrap sm:table-cell">
        {write(waiting?.p95)}
      </Cell>
    </tr>
  )
}
