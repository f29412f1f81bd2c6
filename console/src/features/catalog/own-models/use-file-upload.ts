import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { ApiError } from '../../../api/client.ts'
import type { ModelUpload } from '../../../contract.ts'

/** A file on its way to the server. */
export interface FileUpload {
  /** `waiting`: the server did not answer */
  status: 'sending' | 'waiting' | 'paused' | 'failed' | 'sent'
  fileName: string
  bytes: number
  sent: number
  /** Bytes per second since the last interruption; null in the first second */
  rate: number | null
  /** Of the upload; null until the server has received everything */
  id: string | null
  error: Error | null
}

interface Running {
  abort: (terminates?: boolean) => Promise<void>
  start: () => void
}

function measureRate({ at, sent: first }: { at: number; sent: number }, sent: number): number | null {
  const seconds = (performance.now() - at) / 1_000
  return seconds < 1 ? null : (sent - first) / seconds
}

/** Uploads a file, also after a pause or lost connection, until unmounted. Calls `onSent` with the id. */
export function useFileUpload(onSent: (id: string) => void) {
  const running = useRef<Running | null>(null)
  const [upload, setUpload] = useState<FileUpload | null>(null)
  const since = useRef<{ at: number; sent: number } | null>(null)
  const change = (changes: Partial<FileUpload>) =>
    setUpload((current) => (current === null ? null : { ...current, ...changes }))
  /** What the client reports late must not end a pause. */
  const report = (changes: Partial<FileUpload>) =>
    setUpload((current) =>
      current?.status === 'sending' || current?.status === 'waiting' ? { ...current, ...changes } : current,
    )

  const start = async (file: File, known: readonly ModelUpload[]) => {
    const before = known.find(({ file_name, bytes }) => file_name === file.name && bytes === file.size)
    const facts = { fileName: file.name, bytes: file.size, id: null, error: null, rate: null }
    since.current = null
    setUpload({ ...facts, status: 'sending', sent: before?.received ?? 0 })
    const { createUpload } = await import('./tus-client.ts')
    const created = createUpload(file, before?.id ?? null, {
      onProgress: (sent) => {
        since.current ??= { at: performance.now(), sent }
        report({ status: 'sending', sent, rate: measureRate(since.current, sent) })
      },
      onRetry: () => {
        since.current = null
        report({ status: 'waiting', rate: null })
      },
      onDone: (id) => {
        change({ status: 'sent', sent: file.size, id })
        onSent(id)
      },
      onError: (error) => change({ status: 'failed', error }),
    })
    running.current = created
    created.start()
  }
  const pause = () => {
    change({ status: 'paused' })
    void running.current?.abort()
  }
  const resume = () => {
    since.current = null
    change({ status: 'sending', error: null, rate: null })
    running.current?.start()
  }
  /** Removes the received part. The server has already removed a refused file. */
  const cancel = async () => {
    const { current } = running
    running.current = null
    setUpload(null)
    if (current !== null) await current.abort(true).catch(() => {})
    else if (upload?.id) await (await import('./tus-client.ts')).deleteUpload(upload.id)
  }
  /** Goes on with an upload that is complete on the server. */
  const take = ({ id, file_name: fileName, bytes }: ModelUpload) => {
    setUpload({ status: 'sent', fileName, bytes, sent: bytes, id, error: null, rate: null })
    onSent(id)
  }

  const resumeIfOffline = useEffectEvent(() => {
    if (upload?.error instanceof ApiError && upload.error.code === 'offline') resume()
  })
  useEffect(() => {
    const onOnline = () => resumeIfOffline()
    window.addEventListener('online', onOnline)
    return () => {
      window.removeEventListener('online', onOnline)
      void running.current?.abort()
    }
  }, [])
  return { upload, start, pause, resume, cancel, take }
}
