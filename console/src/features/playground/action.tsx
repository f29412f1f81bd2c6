import type { ComponentProps, ReactNode } from 'react'
import { Button } from '../../components/button.tsx'

/** A button in the head of a view; on a small screen its words are for screen readers alone. */
export function Action({
  icon,
  label,
  ...props
}: { icon: ReactNode; label: string } & ComponentProps<'button'>) {
  return (
    <Button look="quiet" aria-label={label} className="max-sm:size-9 max-sm:px-0" {...props}>
      {icon}
      <span className="max-sm:hidden">{label}</span>
    </Button>
  )
}
