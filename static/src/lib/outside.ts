// Pictures of other servers in a text that is on the page. A text has a place for each (`lib/markdown.ts`); where they
// are shown, a picture that our own server has stands there. An element that was made once is used again, so that a
// text which is made anew while it grows neither flickers nor asks twice.
import { t } from "./i18n.ts";
import { wordsOf } from "./markdown.ts";

/** where our server has a picture, and what is done when it has none */
interface Way {
  at: (address: string) => string;
  failed: () => void;
}

const PLACES = "[data-outside]";
/** Before a picture is here nobody knows how large it is. */
const UNKNOWN = { width: 288, height: 192 };
/** A picture is at most so tall, in pixels. */
const TALLEST = 480;
/** So many texts keep their pictures after they have left the page. */
const MOST_KEPT = 80;

/** How large a picture was when it was last here. */
const sizes: Map<string, { width: number; height: number }> = new Map();

/** The pictures of a text, by its id. */
const kept: Map<string, Shown[]> = new Map();

/** What stands on the page. */
const shown: WeakMap<Element, Shown> = new WeakMap();

/** The servers that a text names pictures of. */
export const hostsIn = (host: ParentNode) => [
  ...new Set([...host.querySelectorAll(PLACES)].map((place) => new URL(addressOf(place)).host)),
];

const addressOf = (place: Element) => (place as HTMLElement).dataset.outside ?? "";

/**
 * Puts pictures in their places.
 * @param id of the text
 */
export function showPictures(host: ParentNode, id: string, way: Way) {
  const mine = kept.get(id) ?? [];
  kept.delete(id);
  for (const place of host.querySelectorAll(`span${PLACES}:not(.shown)`)) {
    const address = addressOf(place);
    const known = mine.find((one) => one.address === address && !one.element.isConnected);
    const picture = known ?? new Shown(place as HTMLElement, address, way);
    if (!known) mine.push(picture);
    picture.place = place as HTMLElement;
    picture.speak();
    place.replaceWith(picture.element);
  }
  if (mine.length > 0) kept.set(id, mine);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value as string);
}

/** Takes pictures away again, and puts what can be pressed in their places. */
export function hidePictures(host: ParentNode, id: string, press: (() => void) | null) {
  kept.delete(id);
  for (const element of host.querySelectorAll(`${PLACES}.shown`)) {
    const picture = shown.get(element);
    if (picture) element.replaceWith(picture.place);
  }
  for (const place of press ? host.querySelectorAll(PLACES) : []) {
    const button = place.querySelector("button") ?? document.createElement("button");
    button.type = "button";
    button.onclick = press;
    if (!button.isConnected) {
      button.textContent = place.textContent;
      place.replaceChildren(button);
    }
  }
}

/** One picture, or the word that it did not come. */
class Shown {
  place: HTMLElement;
  address: string;
  way: Way;
  alt: string;
  element: HTMLSpanElement;

  #isFailed = false;

  constructor(place: HTMLElement, address: string, way: Way) {
    this.place = place;
    this.address = address;
    this.way = way;
    this.alt = wordsOf(place);
    this.element = document.createElement("span");
    this.element.className = "shown";
    this.element.dataset.outside = address;
    shown.set(this.element, this);
    this.#ask();
  }

  /** Says in the reader's language what is said. */
  speak() {
    if (this.#isFailed) this.#fail();
  }

  #ask(isAgain: boolean = false) {
    this.#isFailed = false;
    const image = new Image();
    const known = sizes.get(this.address);
    image.alt = this.alt;
    image.title = this.alt;
    image.loading = isAgain ? "eager" : "lazy";
    image.decoding = "async";
    image.draggable = false;
    fit(image, known ?? UNKNOWN);
    image.addEventListener("load", () => {
      const size = { width: image.naturalWidth, height: image.naturalHeight };
      sizes.set(this.address, size);
      fit(image, size);
      this.element.classList.remove("awaited");
    });
    image.addEventListener("error", () => {
      this.#fail();
      this.way.failed();
    });
    this.element.classList.add("awaited");
    this.element.replaceChildren(image);
    image.src = this.way.at(this.address);
  }

  #fail() {
    this.#isFailed = true;
    const { host } = new URL(this.address);
    const word = document.createElement("span");
    word.textContent = this.alt ? t("outside.failedNamed", { host, alt: this.alt }) : t("outside.failed", { host });
    word.title = this.address;
    const again = document.createElement("button");
    again.type = "button";
    again.textContent = t("retry");
    again.onclick = () => this.#ask(true);
    this.element.classList.remove("awaited");
    this.element.replaceChildren(word, " ", again);
  }
}

function fit(image: HTMLImageElement, { width, height }: { width: number; height: number }) {
  image.width = Math.round(width * Math.min(1, TALLEST / height));
  image.style.aspectRatio = `${width} / ${height}`;
}
