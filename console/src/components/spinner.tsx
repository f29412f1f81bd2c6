import { LoaderCircle } from 'lucide-react'
import { classNames } from '../class-names.ts'

/** A loading spinner, hidden from screen readers. Place it next to text. */
export function Spinner({ className }: { className?: string }) {
  return <LoaderCircle aria-hidden className={classNames('size-4 animate-spin', className)} />
}
