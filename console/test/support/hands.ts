import { expect } from 'vitest'
import type { Locator, Page } from 'playwright-core'

/**
 * How a person works the console: with the pointer, or with the keyboard alone. A hand counts its clicks.
 * Enter and Space count as clicks too; typing and moving the focus don't.
 */
export interface Hand {
  readonly name: 'pointer' | 'keyboard'
  clicks: number
  /** Uses a button, link, tab, menu item, option, radio button or checkbox. */
  press(target: Locator): Promise<void>
  /** Chooses an option of a select. */
  choose(select: Locator, label: string): Promise<void>
  /** Replaces the text of a field. */
  type(field: Locator, words: string): Promise<void>
  /** Presses Enter in the field with the focus. */
  enter(): Promise<void>
}

/** Whether the focus is in the field, or in the form or dialog around it, where Tab leads to the field */
const isWithin = (target: Locator) =>
  target.evaluate((node) => {
    const form = node.closest('form, [role=dialog]') ?? node
    return form.contains(document.activeElement)
  })

/** Fields of a form that has the focus are filled in with Tab and typing. Others take a click first. */
export function createPointer(page: Page): Hand {
  const reach = async (field: Locator) => {
    await field.waitFor()
    if (!(await isWithin(field))) hand.clicks += 1
  }
  const hand: Hand = {
    name: 'pointer',
    clicks: 0,
    async press(target) {
      // A field for files is hidden inside its label.
      const isFile = (await target.getAttribute('type')) === 'file'
      await (isFile ? target.locator('xpath=ancestor::label') : target).click()
      hand.clicks += 1
    },
    async choose(select, label) {
      await reach(select)
      await select.selectOption({ label })
    },
    async type(field, words) {
      await reach(field)
      await field.fill(words)
    },
    async enter() {
      await page.keyboard.press('Enter')
      hand.clicks += 1
    },
  }
  return hand
}

/** Uses no pointer and sets no focus: Tab, arrow keys, letters, Enter and Space only. */
export function createKeyboard(page: Page): Hand {
  const press = async (key: string) => {
    await page.keyboard.press(key)
    hand.clicks += 1
  }
  const hand: Hand = {
    name: 'keyboard',
    clicks: 0,
    async press(target) {
      await target.waitFor()
      const kind = await target.evaluate(
        (node) => node.getAttribute('role') ?? node.getAttribute('type') ?? '',
      )
      if (kind.startsWith('menuitem')) {
        // A menu takes the focus shortly after it shows.
        await expect.poll(() => target.evaluate(isInFocusedMenu)).toBe(true)
        await moveTo(page, target, 'ArrowDown')
      } else if (kind === 'option') return chooseOption(target)
      else if (kind === 'radio' || kind === 'tab') {
        await tabTo(page, target, true)
        const before = await isChosen(target)
        await moveTo(page, target, 'ArrowRight')
        // Arrow keys choose among several. The first one takes Space.
        if (!before && (await isChosen(target))) return void (hand.clicks += 1)
        return press('Space')
      } else await tabTo(page, target)
      await press(kind === 'checkbox' ? 'Space' : 'Enter')
    },
    async choose(select, label) {
      await tabTo(page, select)
      await page.keyboard.type(label)
      expect(await select.evaluate((node: HTMLSelectElement) => node.selectedOptions[0]?.label)).toBe(label)
    },
    async type(field, words) {
      await tabTo(page, field)
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type(words)
    },
    enter: () => press('Enter'),
  }
  /** The field above a list keeps the focus while arrow keys mark an option. */
  const chooseOption = async (target: Locator) => {
    const isMarked = () =>
      target.evaluate(
        (node) => node.getAttribute('data-selected') === 'true' || node === document.activeElement,
      )
    for (let pressed = 0; !(await isMarked()); pressed += 1) {
      if (pressed === 40) throw new Error(`ArrowDown did not mark ${target.toString()}`)
      await page.keyboard.press('ArrowDown')
    }
    await press('Enter')
  }
  return hand
}

const isInFocusedMenu = (node: Element) =>
  node.closest('[role=menu]')?.contains(document.activeElement) ?? false

const hasFocus = (target: Locator) => target.evaluate((node) => node === document.activeElement)

const isChosen = (target: Locator) =>
  target.evaluate(
    (node) =>
      (node instanceof HTMLInputElement && node.checked) ||
      node.getAttribute('aria-checked') === 'true' ||
      node.getAttribute('aria-selected') === 'true',
  )

/** Presses an arrow key until the target has the focus. */
async function moveTo(page: Page, target: Locator, key: string): Promise<void> {
  for (let pressed = 0; !(await hasFocus(target)); pressed += 1) {
    if (pressed === 20) throw new Error(`${key} did not focus ${target.toString()}`)
    await page.keyboard.press(key)
  }
}

/** Presses Tab, or Shift+Tab towards what is before, until the target or its group has the focus. */
async function tabTo(page: Page, target: Locator, group = false): Promise<void> {
  await target.waitFor()
  const locate = () =>
    target.evaluate((node, grouped) => {
      const active = document.activeElement ?? document.body
      const reached =
        node === active ||
        (grouped &&
          node.closest('[role=tablist], [role=radiogroup], fieldset')?.contains(active) === true &&
          active.matches('[role=tab], [role=radio], [type=radio]'))
      if (reached) return 'reached'
      const { DOCUMENT_POSITION_PRECEDING: before } = Node
      return active !== document.body && active.compareDocumentPosition(node) & before ? 'before' : 'after'
    }, group)
  for (let pressed = 0; ; pressed += 1) {
    const place = await locate()
    if (place === 'reached') return
    if (pressed === 200) throw new Error(`Pressing Tab 200 times did not focus ${target.toString()}`)
    await page.keyboard.press(place === 'before' ? 'Shift+Tab' : 'Tab')
  }
}
