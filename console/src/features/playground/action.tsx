import type { ComponentProps, ReactNode } from 'react'
import { Button } from '../../components/button.tsx'

/** A button in the header of a view. On a small screen only screen readers get its label. */
export function Action({
  icon,
  label,
  ...props
}: { icon: ReactNode; label: string } & ComponentProps<'button'>) {
  return (
    <Button variant="quiet" aria-label={label} className="max-sm:size-9 max-sm:px-0" {...props}>
      {icon}
      <span className="max-sm:hidden">{label}</span>
    </Button>
  )
}
