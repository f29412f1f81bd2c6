import { text } from '../text/index.ts'
import { Skeleton } from './states.tsx'

/** Placeholder while a page's code or first data loads. */
export function LoadingPage() {
  return (
    <div
      role="status"
      aria-label={text.common.loading}
      className="mx-auto grid w-full max-w-6xl gap-6 px-4 py-6 sm:px-8 sm:py-8"
    >
      <Skeleton className="h-7 w-48" />
      <Skeleton className="h-48 rounded-xl" />
    </div>
  )
}
