import type { ReactNode } from 'react'
import type { Deployment } from '../../../../server/src/contract.ts'
import { classNames } from '../../class-names.ts'

/** What both views of the playground are given. */
export interface ViewProps {
  /** The page's title and the way to the other view. */
  heading: ReactNode
  /** Those that the view is for. */
  deployments: readonly Deployment[]
  names: ReadonlyMap<string, string>
  /** The deployments that the address names. */
  ids: readonly string[]
  onChoose: (ids: readonly string[]) => void
}

interface ViewFrameProps {
  heading: ReactNode
  /** Which deployments are asked: below the heading. */
  choice?: ReactNode
  /** Whether the choice needs a line of its own on a small screen. */
  wideChoice?: boolean
  /** What can be done: beside the heading, or on a small screen beside the choice. */
  actions?: ReactNode
  children: ReactNode
}

/** The head of a view, and below it what takes the rest of the height. */
export function ViewFrame({ heading, choice, wideChoice, actions, children }: ViewFrameProps) {
  return (
    <div className="flex min-w-0 flex-1 flex-col">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-3 px-4 pt-5 pb-3 sm:gap-x-6 sm:px-8 sm:pt-8">
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
