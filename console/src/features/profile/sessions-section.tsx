import { useQuery } from '@tanstack/react-query'
import type { OwnSession } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { describeUserAgent } from '../../domain/session/user-agent.ts'
import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sessionsQuery, useEndSessions } from './queries.ts'
import { sections } from './sections.ts'

/** Where the person is signed in, with a button to end each other session. */
export function SessionsSection() {
  const sessions = useQuery(sessionsQuery)
  const end = useEndSessions()
  const toasts = useToasts()
  const others = sessions.data?.filter(({ current }) => !current) ?? []
  const endSessions = (id: number | null) => end.mutate(id, { onError: toasts.error })
  return (
    <Section
      id={sections.sessions}
      flush
      title={text.profile.sessions}
      description={text.profile.sessionsDescription}
      actions={
        others.length > 1 && (
          <Button busy={end.isPending} onClick={() => endSessions(null)}>
            {text.profile.endOthers}
          </Button>
        )
      }
    >
      {sessions.data ? (
        <ul className="divide-y">
          {sessions.data.map((session) => (
            <li
              key={session.id}
              className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-5 py-4"
            >
              <SessionFacts session={session} />
              {!session.current && (
                <Button
                  size="small"
                  busy={end.isPending && end.variables === session.id}
                  aria-label={text.profile.endSessionOf(describeUserAgent(session.user_agent))}
                  onClick={() => endSessions(session.id)}
                >
                  {text.profile.endSession}
                </Button>
              )}
            </li>
          ))}
        </ul>
      ) : sessions.error ? (
        <ErrorState error={sessions.error} onRetry={() => void sessions.refetch()} />
      ) : (
        <SkeletonRows count={2} />
      )}
    </Section>
  )
}

function SessionFacts({ session }: { session: OwnSession }) {
  return (
    <div className="grid min-w-0 gap-0.5">
      <p className="flex flex-wrap items-center gap-2 font-medium">
        <span title={session.user_agent ?? undefined}>{describeUserAgent(session.user_agent)}</span>
        {session.current && <Badge tone="accent">{text.profile.thisSession}</Badge>}
      </p>
      <p className="text-[0.8125rem] text-muted">
        {text.profile.seen(session.address, formatRelative(session.last_seen_at))}
      </p>
    </div>
  )
}
