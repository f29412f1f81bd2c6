import { useQuery } from '@tanstack/react-query'
import { text } from '../../text/index.ts'
import { sessionsQuery } from './sessions-query.ts'

/** Which other sessions a change of the sign-in ends, those of scripts by name; nothing without any. */
export function EndingSessions() {
  const { data: sessions = [] } = useQuery(sessionsQuery)
  const others = sessions.filter(({ current }) => !current)
  if (others.length === 0) return null
  const scripts = others.filter(({ kind }) => kind === 'script').map(({ name }) => name ?? '')
  return (
    <p role="status" className="rounded-md bg-warn-soft px-3 py-2 wrap-anywhere text-warn">
      {text.scriptSessions.ending(others.length - scripts.length, scripts)}
    </p>
  )
}
