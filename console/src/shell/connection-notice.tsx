import { useQueryClient } from '@tanstack/react-query'
import { CloudOff } from 'lucide-react'
import { useEffect, useState } from 'react'
import { ApiError } from '../api/client.ts'
import { unreachableEvent } from '../routing/retry-load.ts'
import { text } from '../text/index.ts'

/** Shown while the server is unreachable. */
export function ConnectionNotice() {
  const queryClient = useQueryClient()
  const [away, setAway] = useState(false)
  useEffect(
    () =>
      queryClient.getQueryCache().subscribe(({ type, query }) => {
        if (type !== 'updated') return
        const { error, status, fetchFailureReason } = query.state
        const failure = fetchFailureReason ?? error
        if (failure instanceof ApiError && failure.code === 'offline') setAway(true)
        else if (status === 'success' && !failure) setAway(false)
      }),
    [queryClient],
  )
  useEffect(() => {
    const onChange = (event: Event) => setAway((event as CustomEvent<boolean>).detail)
    window.addEventListener(unreachableEvent, onChange)
    return () => window.removeEventListener(unreachableEvent, onChange)
  }, [])
  if (!away) return null
  return (
    <p role="status" className="flex items-center gap-2 bg-warn-soft px-4 py-2 text-warn sm:px-8">
      <CloudOff aria-hidden className="size-4 shrink-0" />
      {text.shell.offline}
    </p>
  )
}
