import type { ReactNode } from 'react'
import { classNames } from '../../class-names.ts'
import type { Target } from './targets.ts'

export interface ViewProps {
  /** The page's title and the control that switches between views. */
  heading: ReactNode
  /** The deployments of the view's type, with their LoRAs. */
  targets: readonly Target[]
  names: ReadonlyMap<string, string>
  /** The targets in the URL. */
  ids: readonly string[]
  onChoose: (ids: readonly string[]) => void
}

interface ViewFrameProps {
  heading: ReactNode
  /** The deployment select, below the heading. */
  choice?: ReactNode
  /** Gives the deployment select its own line on a small screen. */
  wideChoice?: boolean
  /** The actions, next to the heading or, on a small screen, next to the deployment select. */
  actions?: ReactNode
  children: ReactNode
}

/** The layout of a view: a header, and content that fills the remaining height. */
export function ViewFrame({ heading, choice, wideChoice, actions, children }: ViewFrameProps) {
  return (
    <div className="flex min-w-0 flex-1 flex-col">
      <header className="@container flex flex-wrap items-center gap-x-3 gap-y-3 px-4 pt-5 pb-3 sm:gap-x-6 sm:px-8 sm:pt-8">
        {heading}
        {(choice || actions) && <span aria-hidden className="basis-full sm:hidden" />}
        {choice && (
          <div
            className={classNames('min-w-0 flex-1 sm:order-last sm:basis-full', wideChoice && 'basis-full')}
          >
            {choice}
          </div>
        )}
        {actions && <div className="ml-auto flex">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
