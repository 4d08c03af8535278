package orders;

/** Whoever has the customers' money. */
public interface Bank {
    /** Takes the money for an order. Throws when the bank cannot be reached, or refuses. */
    void charge(String order) throws Exception;
}
