import { useQuery } from '@tanstack/react-query'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { useToasts } from '../../components/toast.tsx'
import { describeUserAgent } from '../../domain/session/user-agent.ts'
import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sessionsQuery } from '../../domain/session/sessions-query.ts'
import { useEndSessions } from './queries.ts'
import { sections } from './sections.ts'
import { SessionRow } from './session-row.tsx'

/** Where the person is signed in, with a button to end each other session. */
export function SessionsSection() {
  const sessions = useQuery(sessionsQuery)
  const end = useEndSessions()
  const toasts = useToasts()
  const others = sessions.data?.filter(({ current }) => !current) ?? []
  return (
    <Section
      id={sections.sessions}
      flush
      title={text.profile.sessions}
      description={text.profile.sessionsDescription}
      actions={
        others.length > 1 && (
          <Button busy={end.isPending} onClick={() => end.mutate(null, { onError: toasts.error })}>
            {others.some(({ kind }) => kind === 'script')
              ? text.profile.endOthersAndScripts
              : text.profile.endOthers}
          </Button>
        )
      }
    >
      <Loaded query={sessions} rows={2}>
        {(all) => (
          <ul className="divide-y">
            {all
              .filter(({ kind }) => kind === 'sign_in')
              .map((session) => (
                <SessionRow
                  key={session.id}
                  session={session}
                  title={
                    <>
                      <span title={session.user_agent ?? undefined}>
                        {describeUserAgent(session.user_agent)}
                      </span>
                      {session.current && <Badge tone="accent">{text.profile.thisSession}</Badge>}
                    </>
                  }
                  facts={text.profile.seen(session.address, formatRelative(session.last_seen_at))}
                  endLabel={text.profile.endSessionOf(describeUserAgent(session.user_agent))}
                />
              ))}
          </ul>
        )}
      </Loaded>
    </Section>
  )
}
