// Pictures of other servers in a text on the page. The text has a placeholder for each (`lib/markdown.ts`). If pictures
// are allowed, the copy from our own server replaces it. Elements are reused. So a text that is rendered again while it
// grows does not flicker or request twice.
import { t } from "./i18n.ts";
import { wordsOf } from "./markdown.ts";

/** The address of a picture on our server, and the callback for failures. */
interface ImageSource {
  url: (address: string) => string;
  onFail: () => void;
}

const PLACES = "[data-outside]";
/** Size of a picture before it is loaded, in pixels. */
const DEFAULT_SIZE = { width: 288, height: 192 };
/** Maximum height of a picture in pixels. */
const MAX_HEIGHT = 480;
/** Number of texts whose pictures are kept after they leave the page. */
const MAX_KEPT = 80;

/** The last known size of each picture. */
const sizes: Map<string, { width: number; height: number }> = new Map();

/** The pictures of each text, by its id. */
const kept: Map<string, RemoteImage[]> = new Map();

/** The picture behind each element on the page. */
const shown: WeakMap<Element, RemoteImage> = new WeakMap();

/** Returns the servers whose pictures a text names. */
export const hostsIn = (host: ParentNode) => [
  ...new Set([...host.querySelectorAll(PLACES)].map((place) => new URL(addressOf(place)).host)),
];

const addressOf = (place: Element) => (place as HTMLElement).dataset.outside ?? "";

/**
 * Replaces placeholders by pictures.
 * @param id of the text
 */
export function showImages(host: ParentNode, id: string, way: ImageSource) {
  const mine = kept.get(id) ?? [];
  kept.delete(id);
  for (const place of host.querySelectorAll(`span${PLACES}:not(.shown)`)) {
    const address = addressOf(place);
    const known = mine.find((one) => one.address === address && !one.element.isConnected);
    const picture = known ?? new RemoteImage(place as HTMLElement, address, way);
    if (!known) mine.push(picture);
    picture.place = place as HTMLElement;
    picture.speak();
    place.replaceWith(picture.element);
  }
  if (mine.length > 0) kept.set(id, mine);
  if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value as string);
}

/** Replaces pictures by their placeholders. With `press`, these become buttons. */
export function hideImages(host: ParentNode, id: string, press: (() => void) | null) {
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

/** One picture, or the message that it could not be loaded. */
class RemoteImage {
  place: HTMLElement;
  address: string;
  way: ImageSource;
  alt: string;
  element: HTMLSpanElement;

  #isFailed = false;

  constructor(place: HTMLElement, address: string, way: ImageSource) {
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

  /** Updates the failure message to the current language. */
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
    fit(image, known ?? DEFAULT_SIZE);
    image.addEventListener("load", () => {
      const size = { width: image.naturalWidth, height: image.naturalHeight };
      sizes.set(this.address, size);
      fit(image, size);
      this.element.classList.remove("awaited");
    });
    image.addEventListener("error", () => {
      this.#fail();
      this.way.onFail();
    });
    this.element.classList.add("awaited");
    this.element.replaceChildren(image);
    image.src = this.way.url(this.address);
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
  image.width = Math.round(width * Math.min(1, MAX_HEIGHT / height));
  image.style.aspectRatio = `${width} / ${height}`;
}
