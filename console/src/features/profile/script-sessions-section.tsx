import { useQuery } from '@tanstack/react-query'
import type { OwnSession } from '../../contract.ts'
import { Section } from '../../components/page.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { ScriptSessionButton } from '../../domain/session/script-session-button.tsx'
import { describeUserAgent } from '../../domain/session/user-agent.ts'
import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sessionsQuery } from './queries.ts'
import { sections } from './sections.ts'
import { SessionRow } from './session-row.tsx'

const words = text.scriptSessions

/** The person's sessions for scripts, with buttons to create one and to end each. */
export function ScriptSessionsSection() {
  const sessions = useQuery(sessionsQuery)
  const scripts = sessions.data?.filter(({ kind }) => kind === 'script')
  return (
    <Section
      id={sections.scriptSessions}
      flush
      title={words.listTitle}
      description={words.listDescription}
      actions={<ScriptSessionButton />}
    >
      {scripts ? (
        <ul className="divide-y">
          {scripts.length === 0 && <li className="px-5 py-4 text-muted">{words.none}</li>}
          {scripts.map((session) => (
            <SessionRow
              key={session.id}
              session={session}
              title={session.name}
              facts={describeUse(session)}
              endLabel={words.endOf(session.name ?? '')}
            />
          ))}
        </ul>
      ) : sessions.error ? (
        <ErrorState error={sessions.error} onRetry={() => void sessions.refetch()} />
      ) : (
        <SkeletonRows count={1} />
      )}
    </Section>
  )
}

function describeUse({ address, user_agent, last_seen_at, expires_at }: OwnSession): string {
  const until = formatRelative(expires_at)
  if (address === null) return words.unused(until)
  return words.used(describeUserAgent(user_agent), address, formatRelative(last_seen_at), until)
}
