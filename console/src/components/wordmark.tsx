import { Link } from '@tanstack/react-router'
import { text } from '../text/index.ts'

/** The product name as a link to the start page. */
export function Wordmark() {
  return (
    <Link to="/" className="flex items-center gap-2.5 rounded-md text-base font-semibold tracking-tight">
      <img src="/favicon.svg" alt="" width={24} height={24} />
      {text.common.product}
    </Link>
  )
}
