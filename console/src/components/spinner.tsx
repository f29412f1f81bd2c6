import { LoaderCircle } from 'lucide-react'
import { classNames } from '../class-names.ts'

/** A turning circle, for the eye alone: what it stands for is said by the words beside it. */
export function Spinner({ className }: { className?: string }) {
  return <LoaderCircle aria-hidden className={classNames('size-4 animate-spin', className)} />
}
